"""How Ivy is configured: which repository, which jars, which proxy."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.progress import Progress

from headrace.environment import ivy
from headrace.errors import EnvironmentFault

NAMESPACE = ' xmlns="http://maven.apache.org/SETTINGS/1.2.0"'


def settings_file(folder: Path, mirror_of: str, namespace: str = "") -> Path:
    path = folder / "settings.xml"
    mirror = f"<mirror><mirrorOf>{mirror_of}</mirrorOf><url> https://mirror.example/m2 </url></mirror>"
    path.write_text(f"<settings{namespace}><mirrors>{mirror}</mirrors></settings>")
    return path


@pytest.mark.parametrize("mirror_of", ["central", "*", "external:*", "other, central", "*,!other"])
def test_mirror_of_central_is_used(tmp_path: Path, mirror_of: str) -> None:
    assert ivy.central_mirror(settings_file(tmp_path, mirror_of)) == "https://mirror.example/m2"


@pytest.mark.parametrize("mirror_of", ["other", "*,!central", "external:http:*"])
def test_mirror_of_others_is_not_used(tmp_path: Path, mirror_of: str) -> None:
    assert ivy.central_mirror(settings_file(tmp_path, mirror_of)) is None


def test_settings_may_have_a_namespace(tmp_path: Path) -> None:
    assert ivy.central_mirror(settings_file(tmp_path, "central", NAMESPACE)) is not None


def test_no_settings_mean_no_mirror(tmp_path: Path) -> None:
    assert ivy.repository({}, tmp_path / "settings.xml") is None


def test_variable_goes_before_settings(tmp_path: Path) -> None:
    settings = settings_file(tmp_path, "central")
    assert ivy.repository({ivy.MIRROR_VARIABLE: "https://mine.example"}, settings) == "https://mine.example"


def test_unreadable_settings_are_a_fault(tmp_path: Path) -> None:
    (tmp_path / "settings.xml").write_text("<settings>")
    with pytest.raises(EnvironmentFault, match=r"settings\.xml"):
        ivy.repository({}, tmp_path / "settings.xml")


@pytest.mark.parametrize("root", [None, "https://mirror.example/m2?a=1&b=2"])
def test_only_a_mirror_sets_the_root(tmp_path: Path, root: str | None) -> None:
    resolver = ElementTree.fromstring(ivy.settings_xml(tmp_path, root)).find("resolvers/ibiblio")
    assert resolver is not None
    assert resolver.get("root") == root


def test_no_transitives_are_asked_for() -> None:
    wanted = ElementTree.fromstring(ivy.wanted_xml(["org.a:one:1.0"])).findall("dependencies/dependency")
    assert [one.attrib for one in wanted] == [{"org": "org.a", "name": "one", "rev": "1.0", "transitive": "false"}]


def test_proxies_reach_the_jvm() -> None:
    flags = ivy.proxy_flags({"https": "http://proxy.example:3128", "no": "localhost, .corp.example"})
    assert flags == (
        "-Dhttps.proxyHost=proxy.example",
        "-Dhttps.proxyPort=3128",
        "-Dhttp.nonProxyHosts=localhost|*.corp.example",
    )


def test_no_proxy_no_flags() -> None:
    assert ivy.proxy_flags({"no": "localhost"}) == ()


def test_silent_download_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ivy, "STALLED_AFTER", 0.0)
    command = [sys.executable, "-c", "input()"]  # waits forever
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process, Progress(disable=True) as progress:
        assert ivy._follow(process, progress, progress.add_task("x"), tmp_path)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("", None),
        (
            "\n module not found: a#b;1\n ERRORS\n\tServer access error at url x (y)\n",
            "Server access error at url x (y)",
        ),
        ("\tmodule not found: a#b;1\n", "module not found: a#b;1"),
        ("Error occurred during initialization of VM\n", "Error occurred during initialization of VM"),
    ],
)
def test_most_informative_line_is_reported(output: str, expected: str | None) -> None:
    assert ivy._trouble(output) == expected


def test_a_part_that_is_renamed_while_bytes_are_counted_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "kafka-raft-4.3.1.jar").write_bytes(b"12345")
    (tmp_path / "kafka-clients-4.3.1.jar.part").symlink_to(tmp_path / "gone")  # listed, but not there any more
    assert ivy.bytes_arrived(tmp_path) == 5


def test_ivy_is_that_of_spark_home_where_pyspark_has_no_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = tmp_path / "jars" / "ivy-2.5.3.jar"
    jar.parent.mkdir()
    jar.touch()
    zipped = ModuleSpec("pyspark", None, is_package=True)
    zipped.submodule_search_locations = [str(tmp_path / "pyspark.zip" / "pyspark")]
    monkeypatch.setattr(ivy, "find_spec", lambda _: zipped)
    assert ivy.ivy_jar({"SPARK_HOME": str(tmp_path)}) == jar
    with pytest.raises(EnvironmentFault, match="pyspark with its jars"):
        ivy.ivy_jar({})

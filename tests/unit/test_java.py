"""Finding a Java that Spark runs on."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.environment.java import Java, find_java, major_version, modules
from headrace.errors import EnvironmentFault, ExitCode


def java_home(folder: Path, banner: str) -> Path:
    """Make a JAVA_HOME whose java says `banner`."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{banner}\nEND\n")
    program.chmod(0o755)
    return folder


def banner(version: str) -> str:
    return f'openjdk version "{version}" 2026-01-20\nOpenJDK Runtime Environment'


@pytest.mark.parametrize("major", [17, 21])
def test_supported_java_is_found_on_path(tmp_path: Path, major: int) -> None:
    home = java_home(tmp_path, banner(f"{major}.0.9"))
    assert find_java({"PATH": f"{home}/bin:/bin:/usr/bin"}) == Java(home / "bin" / "java", major)


def test_java_home_goes_before_path(tmp_path: Path) -> None:
    home = java_home(tmp_path / "home", banner("21.0.1"))
    other = java_home(tmp_path / "other", banner("17.0.1"))
    environ = {"JAVA_HOME": str(home), "PATH": f"{other}/bin:/bin:/usr/bin"}
    assert find_java(environ).major == 21


def test_java_25_is_taken_but_untried(tmp_path: Path) -> None:
    home = java_home(tmp_path, banner("25"))
    assert find_java({"JAVA_HOME": str(home)}).untried


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22", "16", "22.0.1", "not a version"])
def test_other_java_is_refused(tmp_path: Path, version: str) -> None:
    home = java_home(tmp_path, banner(version))
    with pytest.raises(EnvironmentFault) as refused:
        find_java({"JAVA_HOME": str(home)})
    assert refused.value.exit_code == ExitCode.ENVIRONMENT


def test_wrong_java_home_is_named(tmp_path: Path) -> None:
    home = tmp_path / "gone"
    with pytest.raises(EnvironmentFault, match=r"JAVA_HOME is .*gone"):
        find_java({"JAVA_HOME": str(home)})


def test_missing_java_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="No Java"):
        find_java({"PATH": str(tmp_path)})


def test_java_that_fails_is_a_fault(tmp_path: Path) -> None:
    home = java_home(tmp_path, banner("17"))
    (home / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(EnvironmentFault, match="does not start"):
        find_java({"JAVA_HOME": str(home)})


@pytest.mark.parametrize(
    ("banner", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('Picked up JAVA_TOOL_OPTIONS: -Dx=1\njava version "21" 2023-09-19 LTS', 21),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "26-ea"', 26),
        ("Unable to locate a Java Runtime.", None),
    ],
)
def test_banner_shows_the_major_version(banner: str, major: int | None) -> None:
    assert major_version(banner) == major


def test_modules_come_without_versions(tmp_path: Path) -> None:
    home = java_home(tmp_path, "java.base@17.0.15\njdk.incubator.vector@17.0.15")
    assert modules(Java(home / "bin" / "java", 17)) == {"java.base", "jdk.incubator.vector"}

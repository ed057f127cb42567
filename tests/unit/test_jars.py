"""The jar cache: locked, verified, mended, shared."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyspark
import pytest

from headrace.environment import ivy, jars
from headrace.errors import EnvironmentFault

CONTENT = {"org.a:one:1.0": b"first jar", "org.a:two:2.0": b"second jar", "org.b:three:3.0": b"third"}


class Repository:
    """Stands in for Ivy and the network: `files` are what can be fetched, `asked` is what was."""

    def __init__(self) -> None:
        self.files = dict(CONTENT)
        self.asked: list[list[str]] = []

    def download(self, coordinates: Iterable[str], size: int, into: Path, title: str) -> str | None:
        wanted = list(coordinates)
        self.asked.append(wanted)
        for coordinate in wanted:
            if coordinate in self.files:
                _, artifact, version = coordinate.split(":")
                (into / f"{artifact}-{version}.jar").write_bytes(self.files[coordinate])
        return None if set(wanted) <= set(self.files) else "not found"


def artifact_of(file_name: str) -> str:
    return re.sub(r"-\d[\w.-]*\.jar$", "", file_name)


def names_of(set_name: jars.SetName) -> set[str]:
    return {artifact_of(jar.file_name) for jar in jars.locked(set_name)}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    lock = tmp_path / "jars.lock"
    lines = [f"spark {hashlib.sha256(data).hexdigest()} {len(data)} {name}" for name, data in CONTENT.items()]
    lock.write_text("\n".join(["# a comment", *lines, f"broker {'0' * 64} 4 org.c:four:4.0"]))
    made = Repository()
    monkeypatch.setattr(jars, "_lock_file", lambda: lock)
    monkeypatch.setattr(jars, "user_cache_path", lambda name: tmp_path / "cache" / name)
    monkeypatch.setattr(ivy, "download", made.download)
    return made


def test_shipped_lock_names_each_jar_once() -> None:
    sets = {name: [jar.file_name for jar in jars.locked(name)] for name in jars.SET_NAMES}
    assert {name: len(set(files)) for name, files in sets.items()} == {
        **{"spark": 12, "broker": 46},
        **{"s3": 38, "azure": 3, "gcs": 1},
    }


@pytest.mark.parametrize("name", ["s3", "azure", "gcs"])
def test_jars_of_a_store_are_none_that_spark_has(name: jars.SetName) -> None:
    folder = Path(pyspark.__file__).parent / "jars"
    there = {artifact_of(path.name) for path in folder.glob("*.jar")} | names_of("spark")
    assert (len(there) > 200, names_of(name) & there) == (True, set())


def test_connectors_are_of_the_hadoop_that_spark_has() -> None:
    (client,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    locked = [jar.coordinate for name in jars.SET_NAMES for jar in jars.locked(name)]
    connectors = [name for name in locked if name.startswith("org.apache.hadoop:")]
    assert {name.rpartition(":")[2] for name in connectors} == {client.stem.rpartition("-")[2]}
    assert len(connectors) == 3


def test_s3_jars_are_of_one_sdk() -> None:
    sdk = {jar.coordinate.split(":")[2] for jar in jars.locked("s3") if "awssdk" in jar.coordinate}
    assert len(sdk) == 1


def test_setup_leaves_out_what_nobody_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(jars, "_resolve", lambda name, good: asked.append(name) or ())
    jars.resolve_all()
    jars.resolve_all((*jars.ALWAYS, "s3"))
    assert asked == ["spark", "broker", "spark", "broker", "s3"]


def test_empty_cache_is_filled(repository: Repository) -> None:
    paths = jars.resolve("spark")
    assert [path.read_bytes() for path in paths] == list(CONTENT.values())


def test_full_cache_needs_no_network(repository: Repository) -> None:
    first = jars.resolve("spark")
    assert (jars.resolve("spark"), len(repository.asked)) == (first, 1)


def test_only_the_missing_jar_is_fetched(repository: Repository) -> None:
    jars.resolve("spark")[1].unlink()
    jars.resolve("spark")
    assert repository.asked[1:] == [["org.a:two:2.0"]]


def test_cut_off_jar_is_fetched_again(repository: Repository) -> None:
    path = jars.resolve("spark")[0]
    path.write_bytes(b"first")
    jars.resolve("spark")
    assert path.read_bytes() == b"first jar"


def test_changed_bytes_are_found_and_mended(repository: Repository) -> None:
    path = jars.resolve("spark")[0]
    path.write_bytes(b"FIRST jar")
    assert [jar.coordinate for jar in jars.damaged("spark")] == ["org.a:one:1.0"]
    jars._resolve("spark", jars.Jar.intact)
    assert jars.damaged("spark") == ()


def test_wrong_checksum_never_enters_the_cache(repository: Repository) -> None:
    repository.files["org.a:one:1.0"] = b"FIRST jar"
    with pytest.raises(EnvironmentFault, match=r"org\.a:one:1\.0"):
        jars.resolve("spark")
    assert not (jars.folder_of("spark") / "one-1.0.jar").exists()


def test_broken_off_fetch_keeps_what_arrived(repository: Repository) -> None:
    del repository.files["org.b:three:3.0"]
    with pytest.raises(EnvironmentFault):
        jars.resolve("spark")
    repository.files = dict(CONTENT)
    jars.resolve("spark")
    assert repository.asked[-1] == ["org.b:three:3.0"]


def test_failed_fetch_leaves_no_litter(repository: Repository) -> None:
    repository.files = {}
    with pytest.raises(EnvironmentFault):
        jars.resolve("spark")
    folder = jars.folder_of("spark")
    assert [path for path in folder.parent.rglob("*") if path not in {folder, folder.with_suffix(".lock")}] == []


def test_litter_of_a_killed_fetch_is_swept(repository: Repository) -> None:
    litter = jars.folder_of("spark").parent / "spark-fetch-dead" / "one-1.0.jar.part"
    litter.parent.mkdir(parents=True)
    litter.write_bytes(b"fir")
    jars.resolve("spark")
    assert not litter.parent.exists()


def test_two_at_once_fetch_once(repository: Repository) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: jars.resolve("spark"), range(4)))
    assert (len(found), len(repository.asked)) == (1, 1)


def test_another_lock_is_another_folder(repository: Repository) -> None:
    before = jars.folder_of("spark")
    jars._lock_file().write_text("# nothing")
    assert jars.folder_of("spark") != before


def test_unwritable_cache_is_a_fault(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(EnvironmentFault, match="jar cache"):
        jars.resolve("spark")

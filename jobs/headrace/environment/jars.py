"""The jars of Spark, of the embedded broker and of object stores: locked by checksum, cached once per user."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from filelock import FileLock
from platformdirs import user_cache_path

from headrace.environment import ivy
from headrace.errors import EnvironmentFault

SetName = Literal["spark", "broker", "s3", "azure", "gcs"]
SET_NAMES: tuple[SetName, ...] = get_args(SetName)
ALWAYS: tuple[SetName, ...] = ("spark", "broker")
"""The sets that every project needs; the others are fetched for those that ask for them."""

ATTEMPTS = 4


@dataclass(frozen=True)
class Jar:
    """One line of the lock file."""

    set_name: str
    sha256: str
    size: int
    coordinate: str

    @property
    def file_name(self) -> str:
        """The file's name in every Maven repository."""
        _, artifact, version = self.coordinate.split(":")
        return f"{artifact}-{version}.jar"

    def present(self, folder: Path) -> bool:
        """True if the folder holds a file of this name and size; cheap."""
        try:
            return (folder / self.file_name).stat().st_size == self.size
        except OSError:
            return False

    def intact(self, folder: Path) -> bool:
        """True if the folder holds this very file, by checksum."""
        return self.present(folder) and _sha256(folder / self.file_name) == self.sha256


def resolve(set_name: SetName) -> tuple[Path, ...]:
    """Return the jars of a set as absolute paths, fetching those that are not there.

    The network is not touched while every file is there in its right size.
    """
    return _resolve(set_name, Jar.present)


def resolve_all(names: Iterable[SetName] = ALWAYS) -> tuple[Path, ...]:
    """Return the jars of several sets, each checked in full and fetched again where it is broken."""
    return tuple(path for name in names for path in _resolve(name, Jar.intact))


def damaged(set_name: SetName) -> tuple[Jar, ...]:
    """Return the jars of a set that are missing or do not have their checksum."""
    return tuple(jar for jar in locked(set_name) if not jar.intact(folder_of(set_name)))


def locked(set_name: SetName) -> tuple[Jar, ...]:
    """Return the lock file's jars of one set."""
    rows = (line.split() for line in _lock_file().read_text("utf-8").splitlines() if not line.startswith("#"))
    jars = (Jar(name, sha256, int(size), coordinate) for name, sha256, size, coordinate in rows)
    return tuple(jar for jar in jars if jar.set_name == set_name)


def folder_of(set_name: SetName) -> Path:
    """Return where a set is cached; another lock file means another folder."""
    return user_cache_path("headrace") / "jars" / _sha256(_lock_file())[:16] / set_name


def _lock_file() -> Path:
    return Path(__file__).with_name("jars.lock")


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _resolve(set_name: SetName, good: Callable[[Jar, Path], bool]) -> tuple[Path, ...]:
    jars, folder = locked(set_name), folder_of(set_name)
    if not all(good(jar, folder) for jar in jars):
        with _held(folder):
            _fetch_bad(jars, folder, good)
    return tuple(folder / jar.file_name for jar in jars)


def _fetch_bad(jars: tuple[Jar, ...], folder: Path, good: Callable[[Jar, Path], bool]) -> None:
    bad, trouble = [jar for jar in jars if not good(jar, folder)], None
    for _ in range(ATTEMPTS):
        if not bad:
            return
        trouble = _fetch(bad, folder)
        bad = [jar for jar in bad if not jar.intact(folder)]
    if bad:
        raise EnvironmentFault(
            f"{len(bad)} of {len(jars)} jars could not be fetched, first {bad[0].coordinate}: "
            f"{trouble or 'the file has another checksum than the lock says'}. Check the network, or name a mirror of "
            f"Maven Central in {ivy.MIRROR_VARIABLE} or in ~/.m2/settings.xml; then run `headrace setup` again."
        )


def _fetch(jars: list[Jar], folder: Path) -> str | None:
    """Download into a folder of its own, then put each file with the right checksum in place."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}-fetch-") as name:
        staging = Path(name)
        title = f"Fetching {len(jars)} {folder.name} jars"
        trouble = ivy.download((jar.coordinate for jar in jars), sum(jar.size for jar in jars), staging, title)
        for jar in jars:
            if jar.intact(staging):
                os.replace(staging / jar.file_name, folder / jar.file_name)
    return trouble


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Lock a set's folder against other processes; leftovers of an interrupted fetch are removed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder.with_suffix(".lock"))
        with lock:
            for left in folder.parent.glob(f"{folder.name}-fetch-*"):
                shutil.rmtree(left, ignore_errors=True)
            yield
    except OSError as error:
        raise EnvironmentFault(f"The jar cache cannot be written: {error}. Make room or set XDG_CACHE_HOME.") from error

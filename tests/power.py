"""Power losses: what a disk may hold after one, from a recorded trace of what was written and of what was synced.

The recorder looks at a folder before each sync, so it sees whatever wrote there: Python, Rust or the JVM. A file's
content and each name in a folder count as lost until they are synced. A crash state is a choice: of each content that
is not synced the new one, the old one or a part; of each name that came, went or changed the new state or the old one.
The names of a folder that moves change together, as a rename is whole on every file system with a journal. All prefixes
of the trace are among the states, as between two syncs every subset is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, product
from pathlib import Path
from random import Random
from stat import S_ISDIR
from threading import RLock
from typing import Any

import pytest

State = frozenset[tuple[str, bytes | None]]
"""What a folder holds: the content of each file by its path, None for a folder."""

_MOST = 64
"""So many choices at one moment are all made; of more, a sample."""

Names = dict[str, int]


@dataclass(frozen=True)
class Disk:
    """Contents of files and names in folders, by the number of the file or folder."""

    contents: Mapping[int, bytes]
    names: Mapping[int, Names]


@dataclass(frozen=True)
class Moment:
    """What programs see, what is synced, and how much somebody was told by then."""

    seen: Disk
    synced: Disk
    told: int

    def states(self, root: int, random: Random) -> Iterator[State]:
        """What the disk may hold if the power goes now."""
        choices = [*self._contents(), *self._renames()]
        whole = Disk({**self.synced.contents, **self.seen.contents}, {**self.synced.names, **self.seen.names})
        for made in _some(choices, random):
            yield _state(_chosen(whole, made), root)

    def _contents(self) -> Iterator[list[Outcome]]:
        for number, data in self.seen.contents.items():
            old = self.synced.contents.get(number)
            if old != data:
                left = [b"", data[: len(data) // 2]] if old is None else [old]
                yield [(Choice(number, None, each),) for each in dict.fromkeys((data, *left))]

    def _renames(self) -> Iterator[list[Outcome]]:
        for names in _together([*self._names()]):
            new = tuple(Choice(each.folder, each.name, each.new) for each in names)
            yield [new, tuple(Choice(each.folder, each.name, each.old) for each in names)]

    def _names(self) -> Iterator[Renamed]:
        for folder, names in self.seen.names.items():
            old = self.synced.names.get(folder, {})
            for name in sorted({*names, *old}):
                if names.get(name) != old.get(name) and not _is_draft(name):
                    here = {names.get(name), old.get(name)} & {*self.seen.names, *self.synced.names}
                    yield Renamed(folder, name, names.get(name), old.get(name), here)


@dataclass(frozen=True)
class Choice:
    """The content of a file, or what a name in a folder stands for; None where it is not there."""

    number: int
    name: str | None
    value: Any


Outcome = tuple[Choice, ...]


@dataclass(frozen=True)
class Renamed:
    """A name in a folder that stands for something else now; `moved` are the folders among what it stands for."""

    folder: int
    name: str
    new: int | None
    old: int | None
    moved: set[int | None]


def _together(names: list[Renamed]) -> list[list[Renamed]]:
    """Names in groups, by the folders that they stand for."""
    groups: list[list[Renamed]] = []
    for name in names:
        same = [group for group in groups if any(each.moved & name.moved for each in group)]
        groups = [group for group in groups if group not in same]
        groups.append([name, *chain.from_iterable(same)])
    return groups


@dataclass
class Recorder:
    """Records what is written to a folder; syncs are noted and not made, as nobody pulls the plug meanwhile."""

    folder: Path
    moments: list[Moment] = field(default_factory=list)
    told: int = 0

    def __post_init__(self) -> None:
        self._lock = RLock()
        self._open: dict[int, int] = {}  # a file that is open keeps its number
        self._read: dict[int, tuple[tuple[int, int], bytes]] = {}
        self._synced = Disk({}, {})
        self._synced = self._look()

    def install(self, patch: pytest.MonkeyPatch) -> Recorder:
        """Take the place of the system's calls."""
        patch.setattr(os, "fsync", self._sync)
        patch.setattr(os, "sync", self._sync_all)
        return self

    def tell(self, done: int) -> None:
        """From now on somebody knows of so many steps."""
        with self._lock:
            self.told = done
            self._note()

    def states(self, seed: int = 0) -> dict[State, int]:
        """All that the disk may have held, and how much somebody had been told by then at most."""
        found: dict[State, int] = {}
        root, random = self.folder.stat().st_ino, Random(seed)
        for moment in self.moments:
            for state in moment.states(root, random):
                found[state] = max(found.get(state, 0), moment.told)
        return found

    def left(self, seed: int) -> State:
        """One of the states in which the disk may be if the power goes after all that was recorded."""
        root, random = self.folder.stat().st_ino, Random(seed)
        return random.choice([*self.moments[-1].states(root, random)])

    def close(self) -> None:
        """Let go of the files."""
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()

    def _note(self) -> Disk:
        seen = self._look()
        moment = Moment(seen, self._synced, self.told)
        if not self.moments or self.moments[-1] != moment:
            self.moments.append(moment)
        return seen

    def _sync(self, descriptor: int) -> None:
        with self._lock:
            seen, number = self._note(), os.fstat(descriptor).st_ino
            contents, names = dict(self._synced.contents), dict(self._synced.names)
            if number in seen.contents:
                contents[number] = seen.contents[number]
            if number in seen.names:
                names[number] = seen.names[number]
            self._synced = Disk(contents, names)

    def _sync_all(self) -> None:
        with self._lock:
            self._synced = self._note()

    def _look(self) -> Disk:
        contents: dict[int, bytes] = {}
        names: dict[int, Names] = {}
        folders = [self.folder]
        while folders:
            folder = folders.pop()
            here: Names = {}
            names[self._kept(folder)] = here
            for entry in os.scandir(folder):
                with suppress(FileNotFoundError):  # others go on while the recorder looks
                    number = self._kept(entry.path)
                    here[entry.name] = number
                    if entry.is_dir():
                        folders.append(Path(entry.path))
                    else:
                        contents[number] = self._content(number)
        for number in {each for there in self._synced.names.values() for each in there.values()}:
            if S_ISDIR(os.fstat(self._open[number]).st_mode):
                names.setdefault(number, {})
            else:
                contents.setdefault(number, self._content(number))  # its name may be on disk, although it is gone
        return Disk(contents, names)

    def _kept(self, path: str | Path) -> int:
        number = os.stat(path).st_ino
        if number not in self._open:
            self._open[number] = os.open(path, os.O_RDONLY)
        return number

    def _content(self, number: int) -> bytes:
        descriptor = self._open[number]
        found = os.fstat(descriptor)
        sign = (found.st_mtime_ns, found.st_size)
        if number not in self._read or self._read[number][0] != sign:
            self._read[number] = (sign, os.pread(descriptor, found.st_size, 0))
        return self._read[number][1]


def write(state: State, folder: Path) -> None:
    """Make a folder that holds a state."""
    folder.mkdir(parents=True)
    for name, data in sorted(state, key=lambda each: each[0]):
        if data is None:
            (folder / name).mkdir(parents=True, exist_ok=True)
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)


def read(folder: Path) -> Mapping[str, bytes]:
    """The content of each file below a folder."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def committed(state: State, whole: Mapping[str, bytes], table: str) -> int:
    """How many versions a table has; each is whole, and so is each file that it adds, with Hadoop's checksum of it."""
    found = {name: data for name, data in state if data is not None}
    names = sorted(name for name in found if name.startswith(f"{table}/_delta_log/0") and name.endswith(".json"))
    assert [Path(name).stem for name in names] == [f"{version:020}" for version in range(len(names))]
    for name in names:
        assert found[name] == whole[name]
        for added in (each["add"] for each in map(json.loads, found[name].splitlines()) if "add" in each):
            file = Path(table) / added["path"]
            checksum = str(file.with_name(f".{file.name}.crc"))
            assert found[str(file)] == whole[str(file)]
            assert found.get(checksum) == whole.get(checksum)
    return len(names)


def _some(choices: list[list[Outcome]], random: Random) -> Iterator[tuple[Outcome, ...]]:
    """All combinations; of many, what is all new, all old, one of them old, one of them new, and others by chance."""
    count = 1
    for each in choices:
        count *= len(each)
    if count <= _MOST:
        yield from product(*choices)
        return
    new, old = [each[0] for each in choices], [each[1] for each in choices]
    yield from map(tuple, (new, old))
    for at in range(len(choices)):
        yield (*new[:at], old[at], *new[at + 1 :])
        yield (*old[:at], new[at], *old[at + 1 :])
    for _ in range(_MOST):
        yield tuple(map(random.choice, choices))


def _chosen(whole: Disk, made: Iterable[Outcome]) -> Disk:
    contents, names = dict(whole.contents), {number: dict(each) for number, each in whole.names.items()}
    for choice in chain.from_iterable(made):
        if choice.name is None:
            contents[choice.number] = choice.value
        elif choice.value is None:
            names[choice.number].pop(choice.name, None)
        else:
            names[choice.number][choice.name] = choice.value
    return Disk(contents, names)


def _state(disk: Disk, root: int) -> State:
    found: dict[str, bytes | None] = {}
    folders = [("", root)]
    while folders:
        path, number = folders.pop()
        for name, each in disk.names.get(number, {}).items():
            if each in disk.names:
                found[f"{path}{name}"] = None
                folders.append((f"{path}{name}/", each))
            elif not _is_draft(name):
                found[f"{path}{name}"] = disk.contents[each]
    return frozenset(found.items())


def _is_draft(name: str) -> bool:
    """A file under a name that nobody reads."""
    return name.startswith(".") and name.endswith(".tmp")


Step = Callable[[], object]


@contextmanager
def recording(folder: Path) -> Iterator[Recorder]:
    """Record what is written to a folder; what is there is synced."""
    with pytest.MonkeyPatch.context() as patch:
        recorder = Recorder(folder).install(patch)
        try:
            yield recorder
        finally:
            recorder.close()


def record(folder: Path, steps: list[Step]) -> Recorder:
    """Run steps, and record what they write; somebody is told of each once it has returned."""
    with recording(folder) as recorder:
        for number, step in enumerate(steps, 1):
            step()
            recorder.tell(number)
    return recorder

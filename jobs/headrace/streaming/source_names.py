"""The names of a query's streams in Spark's streaming engine: one for each read, which edits do not change.

Its checkpoint keeps how far each stream was read under the stream's name. So a name must be another for each read, also
where one table is read twice, and must stay with its read when others come or go. Which read has which name is noted
next to the checkpoint.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from headrace.store import durable, json_files
from headrace.store.paths import StorePath

_NOTE = "sources.json"


@dataclass(frozen=True)
class Read:
    """One read of a stream: the views from the model down to what is stored, and which of several such reads it is."""

    table: str
    through: tuple[str, ...] = ()
    number: int = 1

    @property
    def key(self) -> str:
        """Return what identifies the read in the note."""
        return f"{'>'.join((*self.through, self.table))}#{self.number}"

    @property
    def plain(self) -> str:
        """Return the name that it has as the only read of its table."""
        return self.table.replace(".", "_")


def table_of(key: str) -> str:
    """The table that a read's key names."""
    return key.rpartition("#")[0].rpartition(">")[2]


def numbered(reads: Iterable[Read]) -> Iterator[Read]:
    """Number the reads of one table through the same views, in their order."""
    met = Counter[tuple[str, ...]]()
    for read in reads:
        path = (*read.through, read.table)
        met[path] += 1
        yield replace(read, number=met[path])


def assigned(reads: Sequence[Read], known: Mapping[str, str]) -> dict[str, str]:
    """Give each read a name, by its key: the one that it had, else one that its table's other reads have left."""
    names = {read.key: known[read.key] for read in reads if read.key in known}
    left = [name for key, name in known.items() if key not in names]
    for read in reads:
        if read.key not in names:
            taken = {*names.values(), *left}
            former = next((name for name in left if _is_of(name, read)), None)
            names[read.key] = former or next(name for name in _names(read) if name not in taken)
            left = [name for name in left if name != former]
    return names


def _names(read: Read) -> Iterator[str]:
    yield read.plain
    yield from (f"{read.plain}__{number}" for number in count(2))


def _is_of(name: str, read: Read) -> bool:
    return name == read.plain or name.startswith(f"{read.plain}__")


def known(checkpoint: StorePath) -> dict[str, str]:
    """Return the names that a checkpoint goes by, by the keys of the reads."""
    file = checkpoint / _NOTE
    return json_files.read(file, lambda names: {**names}) if file.is_file() else {}


def note(checkpoint: StorePath, names: Mapping[str, str]) -> None:
    """Store which read has which name."""
    durable.write(checkpoint / _NOTE, json.dumps(names, indent=1))

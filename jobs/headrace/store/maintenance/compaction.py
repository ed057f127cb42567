"""Which small files of a table become one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain, groupby

from headrace.store.maintenance.retention import Ages
from headrace.store.removal.data_files import ActiveFile

SMALL = 8 << 20
"""Bytes: files below this size are compacted, up to about this size."""

MANY = 500_000
"""Rows: at most this many are in memory during a compaction, however few bytes they take on disk."""


def is_small(file: ActiveFile) -> bool:
    """Whether a file may become one with others."""
    return file.size < SMALL and file.rows < MANY


def groups_by_age(small: Sequence[ActiveFile], ages: Ages | None) -> Iterator[Sequence[ActiveFile]]:
    """Groups of neighbouring files that become one each.

    Where rows leave by their age, those of an earlier period get no more neighbours, and are made one at once.
    """
    in_order = sorted(small, key=lambda each: (each.first, each.name))
    same_age = groupby(in_order, key=lambda each: ages.period(each.last) if ages else 0)
    periods = [[*some] for _, some in same_age]
    return chain(*(groups(some, math.inf) for some in periods[:-1]), *map(groups, periods[-1:]))


def groups(small: Sequence[ActiveFile], most: float = 2.0) -> Iterator[Sequence[ActiveFile]]:
    """Neighbouring files to be compacted, the newest first; a single one stays as it is.

    A file joins those after it once it has no more than `most` times their size. So a row is written again a few times,
    not by every pass, and what was replaced and stays for its readers is little beside the rows.
    """
    group, size, rows = list[ActiveFile](), 0, 0
    for each in reversed(small):
        if size >= SMALL or rows >= MANY or (group and each.size > most * size):
            yield from [group[::-1]] if len(group) > 1 else []
            group, size, rows = [], 0, 0
        group.append(each)
        size, rows = size + each.size, rows + each.rows
    yield from [group[::-1]] if len(group) > 1 else []

"""The calls and the late halves of a stream, in plain Python; it shares no code with the product."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

Pair = tuple[str, str]
Call = tuple[str, str, int, str | None, str | None]


@dataclass(frozen=True)
class Half:
    """One half of a call, at a time in milliseconds; `kind` is `analytics` or `metrics`."""

    pair: Pair
    at: int
    kind: str
    text: str | None


@dataclass
class Calls:
    """Calls put together batch by batch; the watermark moves between batches."""

    gap: int
    grace: int
    rows: list[Call] = field(default_factory=list)
    late: list[tuple[Pair, int]] = field(default_factory=list)
    _open: dict[Pair, list[Half]] = field(default_factory=lambda: defaultdict(list))
    _emitted: dict[Pair, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    _newest: int | None = None

    def take(self, halves: Sequence[Half]) -> None:
        """Take in the halves of a batch, in arrival order, then emit the calls that have ended."""
        for half in halves:
            if self._is_late(half):
                self.late.append((half.pair, half.at))
            else:
                self._open[half.pair].append(half)
        times = [half.at for half in halves] + ([] if self._newest is None else [self._newest])
        self._newest = max(times)
        for pair, waiting in self._open.items():
            for chain in chains(waiting, self.gap):
                if chain[-1].at + self.gap + self.grace <= self._newest:
                    self.rows.append(call_of(pair, chain))
                    self._emitted[pair].append((chain[0].at, chain[-1].at))
                    self._open[pair] = [half for half in self._open[pair] if half not in chain]

    def _is_late(self, half: Half) -> bool:
        if self._newest is not None and half.at + self.gap + self.grace <= self._newest:
            return True
        emitted = self._emitted[half.pair]
        return any(first - self.gap <= half.at <= last + self.gap for first, last in emitted)


def chains(halves: Iterable[Half], gap: int) -> list[list[Half]]:
    """Maximal chains of halves whose neighbours in time are at most a gap apart."""
    found: list[list[Half]] = []
    for half in sorted(halves, key=lambda half: half.at):  # a stable sort: ties stay as they came
        if found and half.at - found[-1][-1].at <= gap:
            found[-1].append(half)
        else:
            found.append([half])
    return found


def call_of(pair: Pair, chain: Sequence[Half]) -> Call:
    """The row of a chain."""
    first: dict[str, Any] = {}
    for half in chain:
        if half.text is not None:
            first.setdefault(half.kind, half.text)
    return (*pair, chain[0].at, first.get("analytics"), first.get("metrics"))

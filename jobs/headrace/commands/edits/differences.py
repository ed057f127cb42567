"""How two versions of rows differ, as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.tables.diff import Difference, Example


def lines(found: Difference, one: str, other: str) -> Iterator[str]:
    """What differs between `one` version and the `other`."""
    for word, columns in ((one, found.columns_running), (other, found.columns_beside)):
        if columns:
            yield f"  columns only {word}: {', '.join(columns)}"
    cells = ", ".join(f"{name} {count}" for name, count in found.cells.items())
    by = f" by {', '.join(found.key)}" if found.key else ", as whole rows"
    counts = f"only {one} {found.only_running}, only {other} {found.only_beside}, differing {found.differing}"
    yield f"  compared{by}: {counts}{f' ({cells})' if cells else ''}"
    yield from (f"  {_line(example, one, other)}" for example in found.examples)


def _line(example: Example, one: str, other: str) -> str:
    key = " ".join(f"{name}={text}" for name, text in example.key.items())
    if example.running and example.beside:
        cells = [f"{name}: {text} -> {example.beside[name]}" for name, text in example.running.items()]
        return " ".join(["differs", key, ", ".join(cells)])
    word = f"only {one}" if example.running or not example.beside else f"only {other}"
    cells = [f"{name}={text}" for name, text in (example.running or example.beside).items()]
    return " ".join(filter(None, [word, key, *cells]))

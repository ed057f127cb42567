"""Lineage as people read it: a tree of text, or a Mermaid diagram; and as JSON rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headrace.catalogue.origins import Column, Origins

Links = Mapping[str, tuple[str, ...]]


def tree(origins: Origins, start: Column, links: Links) -> Iterator[str]:
    """Yield the lines of the tree below a column: what it is derived from, or what is derived from it."""
    yield _label(start)
    yield from _branches(origins, start.name, links, "", (start.name,), set())


def mermaid(starts: list[Column], links: Links, down: bool) -> Iterator[str]:
    """Yield a Mermaid flow chart of the columns reachable from some."""
    reached = reachable(starts, links)
    numbers = {name: f"c{number}" for number, name in enumerate(reached)}
    yield "flowchart LR"
    yield from (f'    {numbers[name]}["{name}"]' for name in reached)
    for name in reached:
        for other in links[name]:
            first, second = (name, other) if down else (other, name)
            yield f"    {numbers[first]} --> {numbers[second]}"


def rows(origins: Origins, starts: list[Column], links: Links) -> Iterator[dict[str, Any]]:
    """Yield one row per column reachable from some, nearest first."""
    for name in reachable(starts, links):
        column = origins.columns[name]
        place = column.place
        yield {
            "column": column.name,
            "table": column.table,
            "parents": list(column.parents),
            "expression": column.made,
            "path": place.path if place else None,
            "line": place.line if place else None,
        }


def reachable(starts: list[Column], links: Links) -> list[str]:
    """Return the names that links lead to, each once, nearest first."""
    found = dict.fromkeys(column.name for column in starts)
    waiting = [*found]
    while waiting:
        for name in links[waiting.pop(0)]:
            if name not in found:
                found[name] = None
                waiting.append(name)
    return [*found]


def _branches(
    origins: Origins, name: str, links: Links, indent: str, path: tuple[str, ...], shown: set[str]
) -> Iterator[str]:
    others = links[name]
    for number, other in enumerate(others):
        is_last = number == len(others) - 1
        note = "  (its rows before the batch)" if other in path else "  (see above)" if other in shown else ""
        has_more = bool(links[other]) or not note
        yield f"{indent}{'└─ ' if is_last else '├─ '}{_label(origins.columns[other])}{note if has_more else ''}"
        if not note:
            shown.add(other)
            below = indent + ("   " if is_last else "│  ")
            yield from _branches(origins, other, links, below, (*path, other), shown)


def _label(column: Column) -> str:
    place = f"  {column.place.path}:{column.place.line}" if column.place else ""
    return f"{column.name}{place}{f'  {column.made}' if column.made else ''}"

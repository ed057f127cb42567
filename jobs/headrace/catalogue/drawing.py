"""The graph of a project as pictures: tables in columns from left to right, as SVG numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 190, 30, 42, 12, 10
"""The size of a box, the space between boxes, and around all of them."""

Parents = Mapping[str, tuple[str, ...]]
_VIA = "\n"
"""Part of the names of waypoints, which keep a line between the boxes."""


@dataclass(frozen=True)
class Box:
    """One table and its upper left corner."""

    name: str
    x: int
    y: int


@dataclass(frozen=True)
class Picture:
    """Boxes, and the lines from the right side of one to the left side of another, as SVG paths."""

    boxes: tuple[Box, ...]
    lines: tuple[str, ...]
    width: int
    height: int


def draw(parents: Parents) -> Picture:
    """Lay out tables, each to the right of all it is derived from and near the height of those."""
    depths = _depths(parents)
    via = _with_waypoints(parents, depths)
    rows: dict[str, float] = {}
    boxes: dict[str, Box] = {}
    columns = [[name for name in via if depths[name] == number] for number in sorted(set(depths.values()))]
    for number, column in enumerate(columns):
        wished = {name: _mean([rows[other] for other in via[name] if other in rows]) for name in column}
        for row, name in enumerate(sorted(column, key=lambda name: (wished[name], name))):
            rows[name] = row
            boxes[name] = Box(name, MARGIN + number * (WIDTH + GAP_X), MARGIN + row * (HEIGHT + GAP_Y))
    tallest = max(map(len, columns), default=0)
    return Picture(
        boxes=tuple(box for box in boxes.values() if _VIA not in box.name),
        lines=tuple(_line(boxes[other], boxes[name]) for name in via for other in via[name] if other != name),
        width=2 * MARGIN + max(len(columns) * (WIDTH + GAP_X) - GAP_X, 0),
        height=2 * MARGIN + max(tallest * (HEIGHT + GAP_Y) - GAP_Y, 0),
    )


def _depths(parents: Parents) -> dict[str, int]:
    """Put each table one column right of its furthest parent; what closes a cycle is ignored."""
    depths: dict[str, int] = {}

    def depth(name: str, path: tuple[str, ...]) -> int:
        if name not in depths:
            above = [other for other in parents[name] if other not in (*path, name)]
            depths[name] = max((depth(other, (*path, name)) + 1 for other in above), default=0)
        return depths[name]

    for name in parents:
        depth(name, ())
    return depths


def _with_waypoints(parents: Parents, depths: dict[str, int]) -> dict[str, tuple[str, ...]]:
    """Give a line that crosses columns a waypoint in each of them; a table's lines share theirs."""
    found: dict[str, tuple[str, ...]] = {}
    for name, above in parents.items():
        last = []
        for other in above:
            before = other
            for number in range(depths[other] + 1, depths[name]):
                place = f"{other}{_VIA}{number}"
                found[place], depths[place] = (before,), number
                before = place
            last.append(before)
        found[name] = tuple(last)
    return found


def _line(start: Box, end: Box) -> str:
    x1, y1, x2, y2 = start.x + WIDTH, start.y + HEIGHT // 2, end.x, end.y + HEIGHT // 2
    middle = (x1 + x2) // 2
    across = f" H{end.x + WIDTH}" if _VIA in end.name else ""
    return f"M{x1},{y1} C{middle},{y1} {middle},{y2} {x2},{y2}{across}"


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0

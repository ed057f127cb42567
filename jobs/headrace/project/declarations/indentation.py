"""Why lines of YAML do not fit under one another, by the keys that stand there."""

from __future__ import annotations

import re
from collections.abc import Sequence

_KEY = re.compile(r"[ ]*(?:- +)*(?P<key>[^\s:#\[{&*!|>'\"%@`-][^:]*?|'[^']*'|\"[^\"]*\") *:(?P<value>\s.*)?$")


def explained(lines: Sequence[str], line: int, column: int, problem: str) -> str | None:
    """Return why the key of a line, counted from 0, does not fit; None if the problem is something else."""
    text = lines[line] if line < len(lines) else ""
    if "'\\t'" in problem:
        return f"{_named(text)} is indented with a tab; write spaces"
    found = _KEY.match(text)
    if found is None or ":" in text[: found.end("key")].strip("'\""):
        return None
    if "mapping values" in problem:
        return _below_a_value(lines, line, column, found)
    if "<block end>" in problem:
        return _between(lines, line, found)
    return None


def _below_a_value(lines: Sequence[str], line: int, column: int, found: re.Match[str]) -> str | None:
    """A key that is deeper than the one before it, which has a value already."""
    before = _before(lines, line, found.start("key"))
    if column != found.string.index(":", found.end("key")) or before is None or not (before["value"] or "").strip():
        return None
    key, indent = before["key"], before.start("key")
    return f"`{found['key']}` is indented below `{key}`, which has a value already; start both in column {indent + 1}"


def _between(lines: Sequence[str], line: int, found: re.Match[str]) -> str | None:
    """A key whose indent is that of no key above it."""
    indent = found.start("key")
    above = _above(lines, line)
    outer = next((key for key in above if key.start("key") < indent), None)
    inner = next((key for key in above if key.start("key") > indent), None)
    if inner is None:
        return None
    choices = [f"column {each.start('key') + 1} like `{each['key']}`" for each in (inner, outer) if each is not None]
    return f"`{found['key']}` starts in another column than every key above it; start it in {' or '.join(choices)}"


def _before(lines: Sequence[str], line: int, indent: int) -> re.Match[str] | None:
    return next((key for key in _above(lines, line) if key.start("key") < indent), None)


def _above(lines: Sequence[str], line: int) -> list[re.Match[str]]:
    """The keys above a line, the nearest first."""
    return [key for text in reversed(lines[:line]) if (key := _KEY.match(text))]


def _named(text: str) -> str:
    found = _KEY.match(text.strip())
    return f"`{found['key']}`" if found else "this line"

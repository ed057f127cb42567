"""Findings as a terminal shows them: place and message, then the line with a caret below."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from headrace.errors import Finding, Place

_BOLD, _RED, _GREEN, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[0m"


def render(findings: Iterable[Finding], root: Path, colour: bool = False) -> str:
    """Return the findings in file order, each with its line of the source where that can be shown."""
    text = "\n".join(line for finding in sorted(findings) for line in _entry(finding, root))
    return text if colour else re.sub(r"\x1b\[\d+m", "", text)


def _entry(finding: Finding, root: Path) -> Iterator[str]:
    yield f"{_BOLD}{finding.place}: {_RED}{finding.code}{_PLAIN}: {finding.message}"
    line = _line(finding.place, root)
    if line is not None and line.strip():
        # Tabs stay tabs, so that the caret stands right whatever their width.
        indent = re.sub(r"[^\t]", " ", line[: finding.place.column - 1])
        yield f"    {line}"
        yield f"    {indent}{_GREEN}^{_PLAIN}"


def _line(place: Place, root: Path) -> str | None:
    try:
        lines = (root / place.path).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return lines[place.line - 1] if place.line <= len(lines) else None

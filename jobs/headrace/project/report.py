"""Findings as a terminal shows them: place and message, then the line with a caret below."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from headrace.errors import Finding, Place


def render(findings: Iterable[Finding], root: Path) -> str:
    """Return the findings in file order, each with its line of the source where that can be shown."""
    return "\n".join(_entry(finding, root) for finding in sorted(findings))


def _entry(finding: Finding, root: Path) -> str:
    line = _line(finding.place, root)
    if line is None or not line.strip():
        return str(finding)
    # Tabs stay tabs, so that the caret stands right whatever their width.
    indent = re.sub(r"[^\t]", " ", line[: finding.place.column - 1])
    return f"{finding}\n    {line}\n    {indent}^"


def _line(place: Place, root: Path) -> str | None:
    try:
        lines = (root / place.path).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return lines[place.line - 1] if place.line <= len(lines) else None

"""The lines that an edit has changed, and the reasons of a plan that stand elsewhere or cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher

from headrace.planning.verdict import Reason

_INTERNAL = re.compile(r"\b(window|group|join|union|distinct|explode)\d|\[|#\d|\*$|cast\(cast\(", re.IGNORECASE)


def edited_lines(old: str, new: str) -> set[int]:
    """The lines of a text that are not those of another; where some are gone, those around."""
    found: set[int] = set()
    was, now = old.splitlines(), new.splitlines()
    for kind, _, _, start, end in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if kind == "delete":
            found |= {start, start + 1}
        elif kind != "equal":
            found |= {*range(start + 1, end + 1)}
    return found


def misplaced(reasons: Iterable[Reason], old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """The reasons that stand where nobody has edited anything."""
    lines = {path: edited_lines(old.get(path, ""), text) for path, text in new.items()}
    return [str(each) for each in reasons if each.place.line not in lines.get(each.place.path, ())]


def obscure(reasons: Iterable[Reason]) -> list[str]:
    """The reasons that no user can read."""
    return [str(each) for each in reasons if any(map(_INTERNAL.search, (each.message, each.old, each.new)))]

"""Texts for a terminal: characters that would act on it, or hide others, are shown as their escapes instead.

What a record of Kafka holds is anybody's choice. A terminal obeys control characters: they move its cursor, change what
was printed before, and some set its clipboard.
"""

from __future__ import annotations

import re

_ACTING = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, ends of lines, those that turn the direction of writing, and halves of characters."""


def printable(text: str) -> str:
    """A text in one line that shows all its characters."""
    return _ACTING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def printable_lines(text: str) -> str:
    """The same of each of its lines."""
    return "\n".join(map(printable, text.split("\n")))

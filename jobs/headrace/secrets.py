"""Texts that no message may show: who reads a target remembers its secrets here, and who writes a message hides them.

A secret is kept out of messages where they are made. This is the second fence: for what a broker, a store or a library
says, which may quote what it was sent. Rows of tables are data, and are never changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from urllib.parse import quote

HIDDEN = "[hidden]"

SHORTEST = 6
"""Characters; a shorter secret may also be a part of harmless words."""

_NAME = re.compile(
    r"secret|pass(word|phrase)|token(?!\.endpoint)|jaas|account[._]key|sas_key|\.key$|key[.]pem|\.private\.",
    re.IGNORECASE,
)


def is_secret(name: str) -> bool:
    """Return whether an option of this name holds a secret."""
    return _NAME.search(name) is not None


class _Memory:
    """What is remembered in this process; replaced as a whole, so that any thread may read it."""

    def __init__(self) -> None:
        self.texts: frozenset[str] = frozenset()
        self.pattern: re.Pattern[str] | None = None

    def add(self, texts: frozenset[str]) -> None:
        if not texts <= self.texts:
            self.texts |= texts
            longest_first = sorted(self.texts, key=len, reverse=True)
            self.pattern = re.compile("|".join(map(re.escape, longest_first)))


_memory = _Memory()


def remember(texts: Iterable[str]) -> None:
    """Hide these texts from now on, and each line of them, also as written in a URL, in JSON and in Python."""
    lines = {line for text in texts for line in (text, *text.splitlines()) if len(line) >= SHORTEST}
    _memory.add(frozenset(form for line in lines for form in _forms(line)))


def _forms(text: str) -> tuple[str, ...]:
    return text, quote(text, safe=""), json.dumps(text)[1:-1], repr(text)[1:-1]


def hidden(text: str) -> str:
    """Return a text without what is remembered."""
    return _memory.pattern.sub(HIDDEN, text) if _memory.pattern else text

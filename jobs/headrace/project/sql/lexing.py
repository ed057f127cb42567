"""The text of a query as Spark's own lexer cuts it: which names stand before a bracket, and what fits nowhere.

sqlglot's lexer is another one, and its tree leaves clauses out; a guard must see what Spark will see. The rules are
those of `SqlBaseLexer.g4` in Spark 4.2: a line comment ends at a carriage return too and goes on after a backslash at
the end of its line, comments in brackets hold others, a hint (`/*+`) is no comment, a raw text (`r'..'`) has no
escapes, letters and `://` start an address, which is a name and may hold `--`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_PIECE = re.compile(
    r"""(?P<space>\s+|--(?:\\\n|[^\r\n])*)
    |(?P<comment>/\*(?!\+))
    |(?P<text>r'[^']*'|r"[^"]*"|'(?:[^'\\]|\\.|'')*')
    |(?P<name>`(?:[^`]|``)*`|"(?:[^"\\]|\\.|"")*"|[^\W\d_]+://[\w/.?=&\#%-]+|\w+)
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_EDGE = re.compile(r"/\*(?!\+)|\*/")
_PUNCTUATION = frozenset("()[].,;:+-*/%=<>!&|^~")
_QUOTES = "'\"`"


@dataclass(frozen=True)
class Routine:
    """A name before an opening bracket, in lower case and without quotes, and the names with dots before it."""

    name: str
    offset: int
    qualifier: tuple[str, ...] = ()
    is_quoted: bool = False


@dataclass(frozen=True)
class Stray:
    """A piece of a text that has no meaning in Spark's SQL, or another one than it seems."""

    text: str
    offset: int


@lru_cache(maxsize=16)
def routines(text: str) -> tuple[Routine, ...]:
    """All names that stand before an opening bracket, keywords too.

    A text in double quotes counts as a name: with `spark.sql.ansi.doubleQuotedIdentifiers` it is one.
    """
    return tuple(_routines(text))


def _routines(text: str) -> Iterator[Routine]:
    parts, is_open = list[Routine](), False
    for kind, start, end in pieces(text):
        if kind == "name":
            name = Routine(_bare(text[start:end]), start, is_quoted=text[start] in _QUOTES)
            parts, is_open = [*(parts if is_open else ()), name], False
        elif kind not in ("space", "comment"):
            if text[start:end] == "(" and parts and not is_open:
                yield _qualified(parts)
            is_open = text[start:end] == "." and bool(parts)
            parts = parts if is_open else []


def bare_names(text: str) -> Iterator[tuple[str, int]]:
    """The names that stand neither before a bracket nor beside a dot, in lower case, with their offsets."""
    names = [(kind, start, end) for kind, start, end in pieces(text) if kind not in ("space", "comment")]
    edge = ("other", 0, 0)
    for before, (kind, start, end), after in zip((edge, *names), names, (*names[1:], edge), strict=False):
        if kind == "name" and text[slice(*before[1:])] != "." and text[slice(*after[1:])] not in ("(", "."):
            yield _bare(text[start:end]), start


@lru_cache(maxsize=16)
def names(text: str) -> tuple[tuple[str, int], ...]:
    """All names and keywords, in lower case and without quotes, with their offsets."""
    return tuple((_bare(text[start:end]), start) for kind, start, end in pieces(text) if kind == "name")


def strays(text: str) -> Iterator[Stray]:
    """What Spark's lexer makes no sense of, or sqlglot another one: open quotes, open comments, addresses, `$`."""
    for kind, start, end in pieces(text):
        piece = text[start:end]
        is_open = kind == "comment" and not piece.endswith("*/")
        is_address = kind == "name" and "://" in piece and piece[0] not in _QUOTES
        if is_open or is_address or (kind == "other" and piece not in _PUNCTUATION):
            yield Stray(piece, start)


def words(text: str) -> tuple[str, ...]:
    """What a text says, piece by piece: without space and comments."""
    return tuple(text[start:end] for kind, start, end in pieces(text) if kind not in ("space", "comment"))


@lru_cache(maxsize=16)
def pieces(text: str) -> tuple[tuple[str, int, int], ...]:
    """The pieces of a text in order: `space`, `comment`, `text`, `name` or `other`, and the offsets of each."""
    return tuple(_pieces(text))


def _pieces(text: str) -> Iterator[tuple[str, int, int]]:
    at = 0
    while match := _PIECE.match(text, at):
        kind = str(match.lastgroup)
        at = _end_of_comment(text, match.end()) if kind == "comment" else match.end()
        yield kind, match.start(), at


def _end_of_comment(text: str, at: int) -> int:
    depth = 1
    while depth and (edge := _EDGE.search(text, at)):
        depth += 1 if edge[0] == "/*" else -1
        at = edge.end()
    return len(text) if depth else at


def _qualified(parts: list[Routine]) -> Routine:
    *before, last = parts
    return Routine(last.name, last.offset, tuple(part.name for part in before), last.is_quoted)


def _bare(name: str) -> str:
    quote = name[0] if name[0] in _QUOTES else ""
    return (name[1:-1].replace(2 * quote, quote) if quote else name).lower()

"""The text of a query as Spark's own lexer cuts it: which names stand before a bracket.

sqlglot's lexer is another one, and its tree leaves clauses out; a guard must see what Spark will see. The rules are
those of `SqlBaseLexer.g4` in Spark 4.2: a line comment ends at a carriage return too and goes on after a backslash at
the end of its line, comments in brackets hold others, a hint (`/*+`) is no comment, a raw text (`r'..'`) has no
escapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_PIECE = re.compile(
    r"""(?P<space>\s+|--(?:\\\n|[^\r\n])*)
    |(?P<comment>/\*(?!\+))
    |(?P<text>r'[^']*'|r"[^"]*"|'(?:[^'\\]|\\.|'')*')
    |(?P<name>`(?:[^`]|``)*`|"(?:[^"\\]|\\.|"")*"|\w+)
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_EDGE = re.compile(r"/\*(?!\+)|\*/")


def called(text: str) -> Iterator[tuple[str, int]]:
    """The names that stand before an opening bracket, in lower case and without quotes, with their offsets.

    A text in double quotes counts as a name: with `spark.sql.ansi.doubleQuotedIdentifiers` it is one.
    """
    name = None
    for kind, start, end in pieces(text):
        if kind == "name":
            name = _bare(text[start:end]), start
        elif kind not in ("space", "comment"):
            if text[start:end] == "(" and name is not None:
                yield name
            name = None


def pieces(text: str) -> Iterator[tuple[str, int, int]]:
    """The pieces of a text in order: `space`, `comment`, `text`, `name` or `other`, and the offsets of each."""
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


def _bare(name: str) -> str:
    quote = name[0] if name[0] in '`"' else ""
    return (name[1:-1].replace(2 * quote, quote) if quote else name).lower()

"""Typing mistakes in SQL: stray commas, unbalanced brackets, characters that only look like SQL.

sqlglot accepts most stray commas, and Spark takes the keyword after one for a column: to it `select a, from t` has a
column `from` named `t`, and no table. So they are found by tokens, before anything is parsed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from sqlglot import Token, TokenType

from headrace.errors import Finding
from headrace.project.files import place_at
from headrace.project.sql import lexing

_CLAUSES = frozenset((
    TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT,
    TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.QUALIFY, TokenType.SELECT, TokenType.JOIN,
    TokenType.ALIAS,
))  # fmt: skip
"""Words before which a list has ended."""

_SIDES = frozenset((TokenType.LEFT, TokenType.RIGHT, TokenType.FULL, TokenType.INNER, TokenType.CROSS))
_JOINS = frozenset((TokenType.JOIN, TokenType.OUTER, TokenType.SEMI, TokenType.ANTI))

_ENDS = frozenset((TokenType.COMMA, TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.SEMICOLON))
_STARTS = frozenset((
    TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.SELECT, TokenType.GROUP_BY, TokenType.ORDER_BY,
    TokenType.PARTITION_BY,
))  # fmt: skip

_AFTER_NAMES = frozenset((
    TokenType.COMMA, TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.DOT, TokenType.ALIAS, TokenType.FROM,
    TokenType.COLON, TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE,
    TokenType.PLUS, TokenType.DASH, TokenType.SLASH, TokenType.DPIPE, TokenType.IS, TokenType.IN, TokenType.BETWEEN,
))  # fmt: skip
"""What follows a column that is named like a keyword, and no keyword."""

_NAMES = frozenset((TokenType.VAR, TokenType.IDENTIFIER))
_OPENING = {TokenType.L_PAREN: TokenType.R_PAREN, TokenType.L_BRACKET: TokenType.R_BRACKET}

_MEANT = dict(zip("\u2018\u2019\u201c\u201d\uff0c\uff08\uff09\uff1b\u2013\u2014\u2212", "'''',();---", strict=True))
"""Characters that word processors insert, with those of SQL that are meant."""


def findings(tokens: Sequence[Token], text: str, path: str) -> Iterator[Finding]:
    """Find all typing mistakes, each at its place."""
    found = [*_commas(tokens, text), *_brackets(tokens, text), *_characters(text)]
    for offset, message in found:
        yield Finding(place_at(path, text, offset), "syntax", message)


def _commas(tokens: Sequence[Token], text: str) -> Iterator[tuple[int, str]]:
    advice = "; take it out, or write what is missing"
    for i, token in enumerate(tokens):
        if token.token_type == TokenType.COMMA:
            if i and tokens[i - 1].token_type in _STARTS and not _is_field(tokens, i - 1):
                yield token.start, f"a stray comma after `{_written(tokens[i - 1], text)}`{advice}"
            elif i + 1 == len(tokens):
                yield token.start, f"a stray comma at the end{advice}"
            elif tokens[i + 1].token_type in _ENDS or _is_clause(tokens, i + 1):
                yield token.start, f"a stray comma before `{_written(tokens[i + 1], text)}`{advice}"
        elif token.token_type == TokenType.SELECT and not _is_field(tokens, i) and _is_bare(tokens, i + 1):
            yield token.start, "`select` names no columns; list them after it"


def _is_clause(tokens: Sequence[Token], i: int) -> bool:
    """Whether a token is a keyword that goes on with the query, and no column of that name."""
    after = tokens[i + 1].token_type if i + 1 < len(tokens) else None
    if tokens[i].token_type in _SIDES:
        return after in _JOINS
    return tokens[i].token_type in _CLAUSES and after not in _AFTER_NAMES


def _is_bare(tokens: Sequence[Token], i: int) -> bool:
    """Whether a SELECT has ended before its first column."""
    if i < len(tokens) and tokens[i].token_type == TokenType.DISTINCT:
        i += 1
    ends = i == len(tokens) or tokens[i].token_type in (TokenType.R_PAREN, TokenType.SEMICOLON)
    return ends or (tokens[i].token_type == TokenType.FROM and _is_clause(tokens, i))


def _is_field(tokens: Sequence[Token], i: int) -> bool:
    return i > 0 and tokens[i - 1].token_type == TokenType.DOT


def _brackets(tokens: Sequence[Token], text: str) -> Iterator[tuple[int, str]]:
    """Brackets without a partner; while all have one, also the CTEs without a comma between them."""
    opened, commas = list[int](), list[tuple[int, str]]()
    for i, token in enumerate(tokens):
        if token.token_type in _OPENING:
            opened.append(i)
        elif token.token_type in _OPENING.values():
            if not opened or _OPENING[tokens[opened[-1]].token_type] != token.token_type:
                yield token.start, f"this `{token.text}` closes nothing{_open(tokens, opened, text)}"
                return
            if _is_cte(tokens, opened.pop(), i):
                name = _written(tokens[i + 1], text)
                commas.append((tokens[i + 1].start, f"a comma is missing before `{name}`, as between all CTEs"))
    if opened:
        last = tokens[opened[-1]]
        commas = [(last.start, f"this `{last.text}` is never closed")]
    yield from commas


def _open(tokens: Sequence[Token], opened: Sequence[int], text: str) -> str:
    if not opened:
        return ""
    last = tokens[opened[-1]]
    return f": the last one open is `{last.text}` in line {place_at('', text, last.start).line}"


def _is_cte(tokens: Sequence[Token], opening: int, closing: int) -> bool:
    """Whether brackets hold a CTE after which the next one starts at once."""
    if not opening or tokens[opening - 1].token_type != TokenType.ALIAS:
        return False
    after = [token.token_type for token in tokens[closing + 1 : closing + 4]]
    return len(after) == 3 and after[0] in _NAMES and after[1:] == [TokenType.ALIAS, TokenType.L_PAREN]


def _characters(text: str) -> Iterator[tuple[int, str]]:
    for kind, start, end in lexing.pieces(text):
        if kind == "other" and (not (character := text[start:end]).isascii() or ord(character) < 32):
            name = unicodedata.name(character, "a control character").lower()
            meant = f"; write `{_MEANT[character]}`" if character in _MEANT else "; take it out"
            yield start, f"U+{ord(character):04X} ({name}) means nothing in SQL{meant}"


def _written(token: Token, text: str) -> str:
    return " ".join(text[token.start : token.end + 1].split())

"""Where sqlglot and Spark's lexer cut a text in different places: code to one, a comment to the other."""

from __future__ import annotations

from itertools import pairwise

from sqlglot import Token, TokenType

from headrace.project.sql import lexing
from headrace.project.sql.dialect import Statement

_TEXTS = frozenset((
    TokenType.STRING, TokenType.RAW_STRING, TokenType.HEX_STRING, TokenType.BIT_STRING, TokenType.BYTE_STRING,
    TokenType.NATIONAL_STRING, TokenType.UNICODE_STRING, TokenType.HEREDOC_STRING,
))  # fmt: skip


def difference(statement: Statement) -> int | None:
    """The first offset where the two differ on what is code or where a text ends; None if they agree."""
    tokens, text = statement.tokens, statement.text
    pieces = [piece for piece in lexing.pieces(text) if piece[0] not in ("space", "comment")]
    code = {at for token in tokens for at in range(token.start, token.end + 1)}
    known = {at for _, start, end in pieces for at in range(start, end)}
    doubled = {one.end for one, other in pairwise(tokens) if _is_doubled(one, other, text)}
    ends = {token.end for token in tokens if token.token_type in _TEXTS} - doubled
    known_ends = {end - 1 for kind, start, end in pieces if kind == "text" or text[start] == '"'}
    differing = {at for at in code ^ known if not text[at].isspace()} | (ends ^ known_ends)
    return min(differing, default=None)


def _is_doubled(one: Token, other: Token, text: str) -> bool:
    """Whether two texts are one with a doubled quote in it, as in `'it''s'`, which sqlglot cuts in two."""
    is_text = one.token_type == other.token_type == TokenType.STRING
    return is_text and one.end + 1 == other.start and text[one.end] == text[other.start]

"""The functions that a statement calls, and the parameters it takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import Token, TokenType, exp

from headrace.errors import Place
from headrace.project.sql.dialect import Statement

BARE_CALLS = frozenset({"current_timestamp", "current_date", "current_time", "localtimestamp"})
"""Functions that Spark also calls without brackets."""


_UNPLACED = frozenset({"curdate"})
"""Functions whose place sqlglot does not keep."""

_TIMES = frozenset({"date", "timestamp", "timestamp_ltz", "timestamp_ntz"})
_CLOCK = re.compile(r"\s*(now|today|tomorrow|yesterday)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Call:
    """One call of a function, named as it was typed.

    `has_order` is whether it is over a window with an order, `has_arguments` whether it has any.
    """

    name: str
    place: Place
    has_order: bool = False
    has_arguments: bool = False


@dataclass(frozen=True)
class Parameter:
    """One `:name` in a text, at offsets `start`..`end`.

    `is_interval` is whether it is the number of an interval, `is_list` whether it is all of an `in (...)`.
    """

    name: str
    place: Place
    start: int = 0
    end: int = 0
    is_interval: bool = False
    is_list: bool = False


def calls(statement: Statement) -> tuple[Call, ...]:
    """Return every function call, in the order of the text; the literal `timestamp 'now'` and its like call `now`."""
    found = [*_calls_with_brackets(statement), *_calls_without(statement), *_clock_literals(statement)]
    return tuple(sorted(found, key=lambda call: call.place))


def parameters(statement: Statement) -> tuple[Parameter, ...]:
    """Return every `:name`, in the order of the text."""
    tokens = statement.tokens
    pairs = enumerate(zip((None, *tokens), tokens, tokens[1:], strict=False))
    return tuple(
        Parameter(
            name.text,
            statement.place(colon.start),
            colon.start,
            name.end + 1,
            is_interval=before is not None and before.text.upper() == "INTERVAL",
            is_list=_is_list(tokens, at),
        )
        for at, (before, colon, name) in pairs
        if _is_parameter(before, colon, name)
    )


def _calls_with_brackets(statement: Statement) -> Iterator[Call]:
    text, following = statement.text, _following(statement.tokens)
    for function in statement.find_all(exp.Func):
        start, end = function.meta.get("start"), function.meta.get("end")
        if start is None or end is None:
            continue
        # By tokens, as comments may stand between a name and its bracket.
        opening, first = following.get(end, (None, None))
        if opening == TokenType.L_PAREN:
            name = text[start : end + 1].strip("`").lower()
            yield Call(name, statement.place(start), _has_order(function), first != TokenType.R_PAREN)


def _following(tokens: Sequence[Token]) -> dict[int, tuple[TokenType | None, TokenType | None]]:
    """Return the types of the two tokens that follow each token, by the offset at which it ends."""
    types = [*(token.token_type for token in tokens), None, None]
    return {token.end: (types[at + 1], types[at + 2]) for at, token in enumerate(tokens)}


def _calls_without(statement: Statement) -> Iterator[Call]:
    tokens = statement.tokens
    for before, token, after in zip((None, *tokens), tokens, (*tokens[1:], None), strict=False):
        is_opened = after is not None and after.token_type == TokenType.L_PAREN
        is_name = before is not None and before.token_type in (TokenType.DOT, TokenType.ALIAS)
        if token.text.lower() in (_UNPLACED if is_opened else BARE_CALLS) and not is_name:
            yield Call(token.text.lower(), statement.place(token.start))


def _clock_literals(statement: Statement) -> Iterator[Call]:
    """Spark takes these words, with or without a zone after them, for the moment at which it reads the text."""
    for kind, text in zip(statement.tokens, statement.tokens[1:], strict=False):
        if text.token_type == TokenType.STRING and kind.text.lower() in _TIMES and _CLOCK.match(text.text):
            yield Call("now", statement.place(kind.start))


def _has_order(function: exp.Func) -> bool:
    window = function.parent
    while isinstance(window, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter)):
        window = window.parent
    # A named window may have an order that is written elsewhere.
    return isinstance(window, exp.Window) and bool(window.args.get("order") or window.args.get("alias"))


def _is_parameter(before: Token | None, colon: Token, name: Token) -> bool:
    """Distinguish `:name` from a path into a variant and a field of a struct type: those directly follow a name."""
    if colon.token_type != TokenType.COLON or name.start != colon.end + 1 or not _is_word(name):
        return False
    if before is None or before.end + 1 != colon.start:
        return True
    return not _is_word(before) and before.token_type not in (TokenType.R_PAREN, TokenType.R_BRACKET)


def _is_list(tokens: Sequence[Token], colon: int) -> bool:
    """Whether nothing else stands in the brackets after IN."""
    around = [token.token_type for token in (*tokens[max(colon - 2, 0) : colon], *tokens[colon + 2 : colon + 3])]
    return around == [TokenType.IN, TokenType.L_PAREN, TokenType.R_PAREN]


def _is_word(token: Token) -> bool:
    is_quoted = token.token_type in (TokenType.STRING, TokenType.NUMBER)
    return not is_quoted and (token.text[:1].isalpha() or token.text[:1] == "_")

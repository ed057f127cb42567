"""The stretches of a text that are not as they were, word by word; comments, spaces and case do not count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from sqlglot import Token, TokenType
from sqlglot.parser import Parser

from headrace.errors import InvalidProject, Place
from headrace.planning.forms.scope import parsed
from headrace.project.model import Macro
from headrace.project.sql.dialect import Statement

_NAMES = Parser.TABLE_ALIAS_TOKENS - {TokenType.NULL, TokenType.TRUE, TokenType.FALSE}
"""What may be a name, also words that are keywords elsewhere, such as `date`."""

_BEFORE = (TokenType.L_PAREN, TokenType.COMMA, TokenType.SELECT, TokenType.DISTINCT, TokenType.LT)
_AFTER = (None, TokenType.R_PAREN, TokenType.COMMA, TokenType.FROM, *Parser.TYPE_TOKENS)
"""What stands around a column or an argument that is only a name, or before and after the name of a field in a type."""

_ENDING = (TokenType.END, TokenType.ASC, TokenType.DESC, TokenType.FIRST, TokenType.ROW, TokenType.ALL)
"""Keywords that may stand behind an expression, where other words are the name that it gets without AS."""

_BEFORE_NAMES = (TokenType.ALIAS, TokenType.DOT, TokenType.COLON)
"""What is followed by a name; `:` also is what follows the name of a field in a type."""

Span = tuple[Place, Place]
"""The first and the last word of some text."""


@dataclass(frozen=True)
class Stretch:
    """Words that are new from `first` on, or the place where words are gone.

    `around` also has the words that belong to an edited one: the table before a column, the arguments after a
    function's name, both sides of an operator. `was` are the words that stood there, if any did.
    """

    first: Place
    exact: Span
    around: Span
    was: Span | None = None

    @staticmethod
    def at(place: Place) -> Stretch:
        """One word."""
        return Stretch(place, (place, place), (place, place))


def holds(span: Span | None, place: Place) -> bool:
    """Whether a place is within some text."""
    return span is not None and span[0] <= place <= span[1]


@lru_cache(maxsize=256)
def of_query(old: str, new: str, old_path: str, path: str) -> tuple[Stretch, ...]:
    """The stretches of a model's query, without its header."""
    return tuple(_stretches(parsed(old, old_path), parsed(new, path)))


@lru_cache(maxsize=256)
def of_macro(old: Macro, new: Macro) -> tuple[Stretch, ...]:
    """The stretches of a macro; one that sqlglot cannot read is one stretch."""
    try:
        return tuple(_stretches(parsed(old.text, old.path), parsed(new.text, new.path)))
    except InvalidProject:
        return (Stretch.at(Place(new.path)),)


def of_header(old: str, new: str, path: str) -> Iterator[Stretch]:
    """The lines of a model's header that are new, or before which some are gone."""
    was, now = (text[: text.find("*/")].splitlines() for text in (old, new))
    for kind, old_start, old_end, start, end in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if kind != "equal":
            gone = kind == "delete"
            line = max(start, 1) if gone else start + 1
            word = now[line - 1]
            first = Place(path, line, len(word) - len(word.lstrip()) + 1)
            span = (Place(path, line), Place(path, max(end, line), 1 << 20))
            yield Stretch(first, span, span, (Place(path, old_start + 1), Place(path, old_end, 1 << 20)))


def words(statement: Statement) -> list[str]:
    """The words of a statement in one form: without the case of keywords and functions.

    The case of other names counts: a struct names its fields after columns, and JSON shows them.
    """
    tokens = statement.tokens
    around = zip((None, *tokens), tokens, (*tokens[1:], None), strict=False)
    return [_word(statement.text[each.start : each.end + 1], before, each, after) for before, each, after in around]


def words_of(macro: Macro) -> list[str]:
    """The words of a macro in one form; its text, if sqlglot cannot read it."""
    try:
        return words(parsed(macro.text, macro.path))
    except InvalidProject:
        return [macro.text]


def _word(written: str, before: Token | None, token: Token, after: Token | None) -> str:
    """A token in one form; what is quoted is read without its quotes. It may be of several words, as GROUP BY."""
    plain = " ".join(written.lower().split())
    return plain if plain == token.text.lower() and not _is_name(before, token, after) else written


def _is_name(before: Token | None, token: Token, after: Token | None) -> bool:
    """Whether a word names a column or a field; one that is a keyword elsewhere does by its place."""
    behind, ahead = (each.token_type if each else None for each in (before, after))
    if token.token_type is TokenType.VAR:
        return ahead is not TokenType.L_PAREN
    is_alone = behind in _BEFORE or token.token_type not in _ENDING
    is_named = behind in _BEFORE_NAMES or ahead is TokenType.COLON  # where any keyword may be one
    return is_named or (token.token_type in _NAMES and is_alone and ahead in _AFTER)


def _stretches(old: Statement, new: Statement) -> Iterator[Stretch]:
    changes = SequenceMatcher(None, words(old), words(new), autojunk=False).get_opcodes()
    for kind, old_start, old_end, start, end in changes:
        if kind == "equal":
            continue
        was = (_start(old, old_start), _end(old, old_end - 1)) if old_end > old_start else None
        if kind == "delete":
            start = _left(old, new, old_start, old_end, start)
            end = start + 1
        around = _around(new.tokens, start, end)
        first = _start(new, start)
        yield Stretch(first, (first, _end(new, end - 1)), (_start(new, around[0]), _end(new, around[1] - 1)), was)


def _left(old: Statement, new: Statement, old_start: int, old_end: int, at: int) -> int:
    """The word next to those that are gone: the one before them, unless only the one after stood on their line."""
    tokens = old.tokens
    with_before = old_start > 0 and tokens[old_start].line == tokens[old_start - 1].line
    with_after = old_end < len(tokens) and tokens[old_end].line == tokens[old_end - 1].line
    is_after = at == 0 or (with_after and not with_before)
    return min(at if is_after else at - 1, len(new.tokens) - 1)


def _around(tokens: Sequence[Token], start: int, end: int) -> tuple[int, int]:
    if end - start == 1 and not (tokens[start].text[:1].isalnum() or tokens[start].text[:1] in "_'\"`"):
        start, end = max(start - 1, 0), min(end + 1, len(tokens))
    while start > 1 and TokenType.DOT in (tokens[start].token_type, tokens[start - 1].token_type):
        start -= 1
    if end < len(tokens) and tokens[end].token_type == TokenType.L_PAREN:
        end = _closing(tokens, end)
    return start, end


def _closing(tokens: Sequence[Token], start: int) -> int:
    depth = 0
    for at in range(start, len(tokens)):
        depth += (tokens[at].token_type == TokenType.L_PAREN) - (tokens[at].token_type == TokenType.R_PAREN)
        if depth == 0:
            return at + 1
    return len(tokens)


def _start(statement: Statement, at: int) -> Place:
    return statement.place(statement.tokens[at].start)


def _end(statement: Statement, at: int) -> Place:
    return statement.place(statement.tokens[at].end)

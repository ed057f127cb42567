"""Streaming Spark SQL as sqlglot can read it: tokens, and the tree of one statement, with true positions.

sqlglot knows neither WATERMARK, IDENTIFIED BY and WITH (...) after a table nor `window(` as a first
group key. Their tokens are left out or renamed before parsing, so no position moves.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, TypeVar

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import ParseError, SqlglotError, TokenError
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.parsers import databricks
from sqlglot.parsers.databricks import DatabricksParser

from headrace.errors import EnvironmentFault, Finding, InvalidProject, Place, did_you_mean
from headrace.project.files import place_at
from headrace.project.sql import typos

KEYWORDS = ("select", "from", "where", "group", "having", "order", "join", "left", "inner", "cross", "union", "qualify")
"""Words that a misspelt word before a syntax error is compared with."""

E = TypeVar("E", bound=exp.Expr)
_DIALECT = Databricks()
logging.getLogger("sqlglot").setLevel(logging.ERROR)  # findings report what it warns of, with places

QUERY_STARTS = ("SELECT", "WITH", "FROM", "(", "VALUES")
"""Words a query can start with."""

LONGEST = 100_000
"""How many characters a text may have; those of a project have a few thousand."""

MOST_TOKENS = 10_000
DEEPEST = 200
"""How deep nodes may be nested, chains of `and` and `union all` included."""

_DEEP = "nested too deeply; split it into CTEs"
_NOTHING = "there is no statement in this file, only space and comments"

_UNIT_NAMES = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR")
UNITS = frozenset((*_UNIT_NAMES, *(f"{name}S" for name in _UNIT_NAMES)))

# fmt: off
_MEANT = frozenset((
    "ABS", "ARRAYS_ZIP", "ARRAY_JOIN", "CHARACTER_LENGTH", "CHAR_LENGTH", "COALESCE", "CONCAT", "CONCAT_WS", "COUNT",
    "COUNT_IF", "DENSE_RANK", "IF", "IFNULL", "LAG", "LCASE", "LEAD", "LEN", "LENGTH", "LOWER", "MAX", "MIN",
    "NVL", "RANK", "ROW_NUMBER", "SIZE", "STRUCT", "SUM", "TO_JSON", "UCASE", "UPPER",
))
"""Functions of which sqlglot may make more than a name and arguments."""

_SPELLED = frozenset((
    "CAST", "CEIL", "EXTRACT", "FLOOR", "LISTAGG", "MAX_BY", "MIN_BY", "OVERLAY", "POSITION", "STRING_AGG", "SUBSTR",
    "SUBSTRING", "TRIM", "TRY_CAST",
))
"""Functions whose arguments are no plain list."""
# fmt: on


@dataclass(frozen=True)
class Statement:
    """One parsed statement and its tokens.

    `ctes` are the names that WITH declares, in lower case; `left_out` are the clauses that sqlglot does not know.
    All who judge a statement share its tree and its scopes: leave them as they are.
    """

    path: str
    text: str
    tokens: tuple[Token, ...]
    tree: exp.Expr
    ctes: frozenset[str]
    left_out: tuple[tuple[Token, ...], ...] = ()

    @property
    def has_watermark(self) -> bool:
        """Return whether a WATERMARK clause was left out."""
        return any(_is(clause[0], "WATERMARK") for clause in self.left_out)

    @cached_property
    def nodes(self) -> tuple[exp.Expr, ...]:
        """All nodes of the tree, outer ones first."""
        return tuple(self.tree.walk())

    @cached_property
    def scopes(self) -> list[Scope]:
        """The scopes of a query, the outermost last; none where it cannot be analysed."""
        try:
            return traverse_scope(self.tree)
        except (SqlglotError, AttributeError, RecursionError):
            # Some malformed queries parse but cannot be analysed; Spark will report what is wrong with them.
            return []

    def find_all(self, *kinds: type[E]) -> Iterator[E]:
        """Yield the nodes of some kinds, outer ones first."""
        return (node for node in self.nodes if isinstance(node, kinds))

    def place(self, offset: int) -> Place:
        """Return the place of an offset in the text."""
        return place_at(self.path, self.text, offset)


class _Parser(DatabricksParser):
    """Raises where it cannot parse on; sqlglot's own parser would log that, and take the whole text for a command.

    A bracket after `array(...)`, or after a column of such a name, takes an element; sqlglot drops what is before it.
    An argument of a lambda is found in any case, as in Spark; sqlglot would take `x` in `X -> x + 1` for a column.
    """

    ARRAY_CONSTRUCTORS: ClassVar = {}

    def _replace_lambda(self, node: exp.Expr | None, expressions: list[exp.Expr]) -> exp.Expr | None:
        names = {each.name.lower() for each in expressions}
        written = {column.parts[0].name for column in node.find_all(exp.Column)} if node else set[str]()
        alike = [exp.to_identifier(name) for name in sorted(written) if name.lower() in names]
        return super()._replace_lambda(node, [*expressions, *alike])

    def _parse_as_command(self, start: Token) -> exp.Command:
        self.raise_error("Unexpected token")
        return super()._parse_as_command(start)

    def _warn_unsupported(self) -> None:
        self.raise_error("Unexpected token", self._prev)

    def _parse_returns(self) -> exp.ReturnsProperty:
        made = super()._parse_returns()
        if made.this is None:
            self.raise_error("Unexpected token")
        return made

    def _parse_user_defined_function_expression(self) -> exp.Expr | None:
        if self._curr and self._prev.text.upper() != "RETURN":
            self.raise_error("Unexpected token")
        return super()._parse_user_defined_function_expression()


class _AsWritten(_Parser):
    """Parses most functions as a name and arguments.

    sqlglot takes the formats `y` and `yyyy` for the same, and the units 'D', which Spark does not know, and day; it
    drops arguments that it does not expect.
    """

    FUNCTIONS: ClassVar = {name: build for name, build in DatabricksParser.FUNCTIONS.items() if name in _MEANT}
    FUNCTION_PARSERS: ClassVar = {
        name: read for name, read in DatabricksParser.FUNCTION_PARSERS.items() if name in _SPELLED
    }
    UNARY_PARSERS: ClassVar = {**DatabricksParser.UNARY_PARSERS, TokenType.PLUS: lambda self: _plus(self)}


def _plus(parser: DatabricksParser) -> exp.Expr:
    """A plus before a value, which sqlglot drops: it makes a number of a text."""
    value = parser._parse_unary()
    is_number = isinstance(value, exp.Literal) and not value.is_string
    return value if value is not None and is_number else exp.Anonymous(this="positive", expressions=[value])


def parse(text: str, path: str, starts: Sequence[str] = QUERY_STARTS, as_written: bool = False) -> Statement:
    """Parse the one statement of a text, which starts with one of the words `starts`; else raise InvalidProject.

    With `as_written`, two functions have the same node type only if they certainly mean the same. Raises
    EnvironmentFault where sqlglot is installed in its compiled form.
    """
    tokens: tuple[Token, ...] = ()
    _refuse_compiled()
    refuse_long(text, path)
    try:
        tokens = _tokens(text)
        refuse_long(text, path, len(tokens))
        if found := [*_refusals(tokens, text, path, starts)]:
            raise InvalidProject(found)
        clauses = [*_clauses(tokens)]
        known = [_plain(tokens, i) for i in range(len(tokens)) if not any(start <= i < end for start, end in clauses)]
        parser = _AsWritten(dialect=_DIALECT) if as_written else _Parser(dialect=_DIALECT)
        (tree,) = parser.parse(known, text)
    except TokenError as error:
        raise InvalidProject([_token_finding(error, text, path)]) from None
    except ParseError as error:
        raise InvalidProject([_parse_finding(error, tokens, text, path)]) from None
    except (SqlglotError, AssertionError, AttributeError, LookupError, TypeError, ValueError):
        # The parser itself fails on some malformed texts, without a position.
        raise InvalidProject([Finding(Place(path), "syntax", "this cannot be read as SQL")]) from None
    except RecursionError:
        raise InvalidProject([Finding(Place(path), "syntax", _DEEP)]) from None
    if tree is None:
        raise InvalidProject([Finding(Place(path), "syntax", _NOTHING)])
    if (deep := deepest(tree)) is not None:
        at = min((int(node.meta["start"]) for node in deep.walk() if "start" in node.meta), default=0)
        raise InvalidProject([Finding(place_at(path, text, at), "syntax", _DEEP)])
    left_out = tuple(tokens[start:end] for start, end in clauses)
    tree, ctes = _without_streams(tree)
    statement = Statement(path, text, tokens, tree, ctes, left_out)
    if found := [*_late_watermarks(statement)]:
        raise InvalidProject(found)
    return statement


@lru_cache(maxsize=256)
def _tokens(text: str) -> tuple[Token, ...]:
    """The tokens of a text, which may be parsed twice: with functions as sqlglot has them, and as they are written."""
    return _whole_texts(_DIALECT.tokenize(text), text)


def _refuse_compiled() -> None:
    """The parsers here extend sqlglot's, and classes that are compiled cannot be extended."""
    if not str(databricks.__file__).endswith(".py"):
        message = "this Python has sqlglot in its compiled form (`sqlglot[c]`), which headrace cannot extend;"
        raise EnvironmentFault(f"{message} give headrace an environment of its own, or run `pip uninstall sqlglotc`")


@lru_cache(maxsize=1024)
def parse_as_written(text: str, path: str) -> Statement:
    """A query or macro whose functions are what is written. It is shared by those who judge it: leave it as it is."""
    return parse(text, path, (*QUERY_STARTS, "CREATE"), as_written=True)


def refuse_long(text: str, path: str, tokens: int = 0) -> None:
    """Raise InvalidProject for a text that is too long to be judged."""
    if message := length_fault(text, tokens):
        raise InvalidProject([Finding(Place(path), "syntax", message)])


def length_fault(text: str, tokens: int = 0) -> str | None:
    """Return why a text is too long to be judged, if it is: `tokens` is how many words and signs it has."""
    if len(text) <= LONGEST and tokens <= MOST_TOKENS:
        return None
    size = f"{tokens:,} words and signs" if tokens > MOST_TOKENS else f"{len(text):,} characters"
    most = f"{MOST_TOKENS:,}" if tokens > MOST_TOKENS else f"{LONGEST:,}"
    return f"this text has {size}, and {most} are the most here; put lists of values into a table, and split the rest"


def deepest(tree: exp.Expr) -> exp.Expr | None:
    """A part of a tree that is nested too deeply for a recursive walk, if there is one."""
    waiting = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > DEEPEST:
            return node
        waiting += ((child, depth + 1) for child in node.iter_expressions())
    return None


def _whole_texts(tokens: Sequence[Token], text: str) -> tuple[Token, ...]:
    """Take `'it''s'` for one text with a quote in it, as Spark does, and not for two texts after each other."""
    found: list[Token] = []
    for token in tokens:
        before, quote = found[-1] if found else token, text[token.start]
        is_text = token.token_type == before.token_type == TokenType.STRING and text[before.start] == quote
        if is_text and quote in "'\"" and before.end + 1 == token.start:
            comments = [*before.comments, *token.comments]
            place = (token.line, token.col, before.start, token.end)
            found[-1] = Token(TokenType.STRING, f"{before.text}{quote}{token.text}", *place, comments)
        else:
            found.append(token)
    return tuple(found)


def _clauses(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Find the token ranges of the clauses that sqlglot does not know."""
    for i, token in enumerate(tokens):
        if _is(token, "DELAY") and _follow(tokens, i + 1, "OF", "INTERVAL") and _interval_end(tokens, i + 3) > i + 3:
            start = next((j for j in range(i - 1, -1, -1) if _is(tokens[j], "WATERMARK")), i)
            start -= start > 0 and _is(tokens[start - 1], "WATERMARK")
            yield start, _interval_end(tokens, i + 3)
        elif _is(token, "IDENTIFIED") and _follow(tokens, i + 1, "BY"):
            yield i, i + 3
        elif token.token_type == TokenType.WITH and i and _follow(tokens, i + 1, "("):
            yield i, _closing(tokens, i + 1) + 1


def _interval_end(tokens: Sequence[Token], i: int) -> int:
    """Return the index after the numbers and units that follow INTERVAL."""
    while i < len(tokens) and (
        tokens[i].token_type in (TokenType.NUMBER, TokenType.STRING, TokenType.DASH, TokenType.COLON)
        or tokens[i - 1].token_type == TokenType.COLON
        or tokens[i].text.upper() in UNITS
        or (_is(tokens[i], "TO") and tokens[i - 1].text.upper() in UNITS)
    ):
        i += 1
    return i


def _closing(tokens: Sequence[Token], i: int) -> int:
    depth = 0
    for j in range(i, len(tokens)):
        depth += (tokens[j].token_type == TokenType.L_PAREN) - (tokens[j].token_type == TokenType.R_PAREN)
        if depth == 0:
            return j
    return len(tokens) - 1


def _plain(tokens: Sequence[Token], i: int) -> Token:
    """Take `window` for a name, unless it starts the clause `window w as (...)`."""
    token = tokens[i]
    if token.token_type != TokenType.WINDOW or _follow(tokens, i + 2, "AS", "("):
        return token
    return Token(TokenType.VAR, token.text, token.line, token.col, token.start, token.end, token.comments)


def _is(token: Token, word: str) -> bool:
    return token.text.upper() == word and token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)


def _follow(tokens: Sequence[Token], i: int, *words: str) -> bool:
    return len(tokens) >= i + len(words) and all(_is(tokens[i + j], word) for j, word in enumerate(words))


def _refusals(tokens: Sequence[Token], text: str, path: str, starts: Sequence[str]) -> Iterator[Finding]:
    if not tokens:
        yield Finding(Place(path), "syntax", _NOTHING)
    elif tokens[0].text.upper() not in starts:
        place, word = place_at(path, text, tokens[0].start), tokens[0].text
        code = "syntax" if tokens[0].token_type == TokenType.VAR else "not-allowed"
        known = [start.lower() for start in starts if start.isalpha()]
        advice = did_you_mean(word, known) or f" Start with {' or '.join(known)}."
        yield Finding(place, code, f"`{word}` cannot start this file.{advice}")
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            message = "one file holds one statement and no `;`; take it out"
            yield Finding(place_at(path, text, token.start), "not-allowed", message)
    yield from typos.findings(tokens, text, path)


def _token_finding(error: TokenError, text: str, path: str) -> Finding:
    """Report an open quote or comment; sqlglot gives its start only in the cause of the error."""
    match = re.search(r"Missing (\S+) from \d+:(\d+)", str(error.__cause__))
    offset = int(match[2]) if match else max(text.rfind("/*"), 0)
    what = f"quote {match[1]}" if match else "comment"
    return Finding(place_at(path, text, offset), "syntax", f"this {what} is never closed")


def _parse_finding(error: ParseError, tokens: Sequence[Token], text: str, path: str) -> Finding:
    """Report where parsing failed; sqlglot blames the word after a misspelt one, so check the one before too."""
    detail = error.errors[0]
    word = detail["highlight"] or ""
    ends = [token for token in tokens if (token.line, token.col) == (detail["line"], detail["col"])]
    offset = ends[0].start if ends else len(text)
    before = [token for token in tokens if token.end < offset][-1:]
    for token in (*before, *ends[:1]):
        word_before = token.text.lower()
        is_word = word_before not in KEYWORDS and len(word_before) > 2 and not _is_part(tokens, token)
        if is_word and (advice := did_you_mean(word_before, KEYWORDS)):
            return Finding(place_at(path, text, token.start), "syntax", f"`{token.text}` is not expected here.{advice}")
    if "Required keyword" in detail["description"]:
        return Finding(place_at(path, text, offset), "syntax", f"something is missing after `{word}`")
    if "Unexpected token" in detail["description"]:
        return Finding(place_at(path, text, offset), "syntax", f"`{word}` is not expected here")
    message = detail["description"][0].lower() + detail["description"][1:]
    return Finding(place_at(path, text, offset), "syntax", f"{message} near `{word}`")


def _is_part(tokens: Sequence[Token], token: Token) -> bool:
    """Whether a word is part of a name with dots, and so no misspelt keyword."""
    at = next(i for i, each in enumerate(tokens) if each is token)
    around = (*tokens[max(at - 1, 0) : at], *tokens[at + 1 : at + 2])
    return any(each.token_type == TokenType.DOT for each in around)


def _without_streams(tree: exp.Expr) -> tuple[exp.Expr, frozenset[str]]:
    """Replace each STREAM by its table, which it hides from the scope analysis; also return the names of the CTEs."""
    found = [*tree.find_all(exp.Stream, exp.CTE)]
    for stream in (each for each in found if isinstance(each, exp.Stream)):
        inner = stream.this
        if isinstance(inner, exp.Subquery) and isinstance(inner.this, exp.Table):
            inner.this.set("alias", inner.args.get("alias"))
            inner = inner.this
        stream.replace(inner)
    return tree, frozenset(each.alias.lower() for each in found if isinstance(each, exp.CTE))


def _late_watermarks(statement: Statement) -> Iterator[Finding]:
    """Find each WATERMARK after an alias: Spark reads it only before the alias."""
    aliases = [each.this for each in statement.find_all(exp.TableAlias)] if statement.has_watermark else []
    ends = {alias.meta.get("end") for alias in aliases if alias is not None}
    for clause in statement.left_out:
        before = max((token.end for token in statement.tokens if token.end < clause[0].start), default=None)
        if before in ends and _is(clause[0], "WATERMARK"):
            message = "WATERMARK goes after the table and before its alias: `table watermark ... delay of ... as alias`"
            yield Finding(statement.place(clause[0].start), "syntax", message)

"""The text as a tree: Spark's syntax as sqlglot reads it, every function as it is written, one query or expression."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parsers.databricks import DatabricksParser

from headrace.project.sql.dialect import deepest, length_fault
from headrace.project.sql.guard import sizes
from headrace.reading.rows import BadQuery

_DIALECT = Databricks()
_FIRST_WORDS = {TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN}
_SPELLED = ("CAST", "TRY_CAST", "EXTRACT", "POSITION", "SUBSTRING", "SUBSTR", "TRIM")
"""Functions whose arguments are not a plain list."""


_DEEP = "nested too deep"
_OR_SPARKS = ": if Spark knows it, run it with --spark"


class _AsWritten(DatabricksParser):
    """Parses functions as a name and arguments: some of sqlglot's own nodes lose what distinguishes Spark's."""

    ARRAY_CONSTRUCTORS: ClassVar = {}
    FUNCTIONS: ClassVar = {}
    FUNCTION_PARSERS: ClassVar = {name: DatabricksParser.FUNCTION_PARSERS[name] for name in _SPELLED}


def query(text: str) -> exp.Query:
    """The one SELECT of a text."""
    tokens = _tokens(text)
    if not tokens or tokens[0].token_type not in _FIRST_WORDS:
        raise BadQuery("only a SELECT can be run here")
    trees = _trees(text, tokens)
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise BadQuery("only a single SELECT can be run here")
    if trees[0].find(exp.Stream):
        raise BadQuery("`stream` belongs in model files: here a table is read as it is now, without that word")
    _refuse_sizes(trees[0])
    return trees[0]


def condition(text: str) -> exp.Expr:
    """The one expression of a text."""
    try:
        trees = _trees(text, _tokens(text))
    except BadQuery:
        trees = []
    if len(trees) != 1 or not isinstance(trees[0], exp.Condition) or isinstance(trees[0], exp.Query):
        raise BadQuery(f"--where is not a SQL condition: {text}")
    _refuse_sizes(trees[0])
    return trees[0]


def _refuse_sizes(tree: exp.Expr) -> None:
    for _, message in (*sizes.faults(tree), *sizes.unbounded(tree)):
        raise BadQuery(message)


def _tokens(text: str) -> list[Token]:
    if message := length_fault(text):
        raise BadQuery(message)
    try:
        tokens = list(_DIALECT.tokenize(text))
        if message := length_fault(text, len(tokens)):
            raise BadQuery(message)
        return _joined(tokens, text)
    except SqlglotError as error:
        raise BadQuery(str(error)) from None


def _trees(text: str, tokens: list[Token]) -> list[exp.Expr | None]:
    try:
        trees = [*_AsWritten(dialect=_DIALECT).parse(tokens, text)]
        if any(deepest(tree) for tree in trees if tree is not None):
            raise BadQuery(_DEEP)
        return trees
    except ParseError as error:
        at = error.errors[0]
        raise BadQuery(f"not valid SQL at {at['line']}:{at['col']}, near {at['highlight']}{_OR_SPARKS}") from None
    except SqlglotError as error:
        raise BadQuery(str(error)) from None
    except RecursionError:
        raise BadQuery(_DEEP) from None


_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def _joined(tokens: list[Token], text: str) -> list[Token]:
    """Adjacent string literals are one, as in Spark."""
    out: list[Token] = []
    for token in tokens:
        if out and token.token_type == out[-1].token_type == TokenType.STRING:
            before = out[-1]
            if not text[before.end + 1 : token.start].strip():
                both = before.text + token.text
                out[-1] = Token(before.token_type, both, before.line, before.col, before.start, token.end)
                continue
        out.append(token)
    return out


def unescaped(raw: str) -> str | None:
    """The value of adjacent string literals as Spark reads them, from their source; None for unsupported escapes."""
    if raw[:1] in "rR":
        return raw[2:-1]
    out, at, quote = "", 0, ""
    while at < len(raw):
        letter, following = raw[at], raw[at + 1 : at + 2]
        at += 1
        if not quote:
            quote = "" if letter.isspace() else letter
        elif letter == quote and following == quote:  # a quote, doubled
            out, at = out + letter, at + 1
        elif letter == quote:
            quote = ""
        elif letter == "\\":
            if following in ("u", "U", "") or following.isdigit():
                return None
            out, at = out + _ESCAPES.get(following, following), at + 1
        else:
            out += letter
    return out

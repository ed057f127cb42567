"""The WATERMARK clauses of a statement: which table each belongs to, and which column is the event time."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import Token, TokenType, exp

from headrace.errors import Place
from headrace.project.sql.dialect import Statement


@dataclass(frozen=True)
class Watermark:
    """One clause: `column` is the event time from here on."""

    column: str
    place: Place


def after(table: exp.Expr, statement: Statement) -> Watermark | None:
    """Return the clause directly after a table, or before the alias of a subquery."""
    for clause in statement.left_out:
        if clause[0].text.upper() == "WATERMARK":
            before, following = _around(statement, clause)
            if before.end == _end(table) or (following is not None and following == _alias(table)):
                return Watermark(_column(clause), statement.place(clause[0].start))
    return None


def columns(statement: Statement) -> frozenset[str]:
    """Return the columns that the clauses stand on or make, in lower case."""
    clauses = (clause for clause in statement.left_out if clause[0].text.upper() == "WATERMARK")
    return frozenset(_column(clause).lower() for clause in clauses)


def _around(statement: Statement, clause: tuple[Token, ...]) -> tuple[Token, int | None]:
    """Return the last word before a clause, brackets left out, and the offset of the first word after it."""
    before = [token for token in statement.tokens if token.end < clause[0].start]
    names = [token for token in before if token.token_type != TokenType.R_PAREN]
    after = [
        token for token in statement.tokens if token.start > clause[-1].end and token.token_type != TokenType.ALIAS
    ]
    return names[-1], after[0].start if after else None


def _end(table: exp.Expr) -> int | None:
    return table.parts[-1].meta.get("end") if isinstance(table, exp.Table) else None


def _alias(table: exp.Expr) -> int | None:
    alias = table.args.get("alias") if isinstance(table, exp.Subquery) else None
    return alias.this.meta.get("start") if alias is not None and alias.this is not None else None


def _column(clause: tuple[Token, ...]) -> str:
    """Return the name before DELAY: the column itself, or the one that `... as name` makes."""
    delay = next(i for i, token in enumerate(clause) if token.text.upper() == "DELAY")
    return clause[delay - 1].text.strip("`")

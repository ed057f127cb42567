"""What the text of a model contains: tables it reads, parameters, calls, output columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp

from headrace.errors import InvalidProject, Place
from headrace.project.model import Input, LiteralParameter
from headrace.project.sql import calls, dialect, scopes, tables, templates
from headrace.project.sql.calls import Call, Parameter
from headrace.project.sql.dialect import Statement
from headrace.project.sql.guard import costs, refusals, routines
from headrace.project.sql.guard.costs import Costs


@dataclass(frozen=True)
class SqlText:
    """The facts of one query.

    `unexplained` are the calls of functions that only its project knows, `costs` what only a header may allow. `stars`
    are the places where a `*` takes its columns from a stored table.
    """

    statement: Statement
    inputs: tuple[Input, ...]
    parameters: tuple[Parameter, ...]
    calls: tuple[Call, ...]
    unexplained: tuple[Call, ...]
    costs: Costs
    stars: tuple[Place, ...]
    columns: tuple[str, ...] | None

    @property
    def has_watermark(self) -> bool:
        """Return whether the query has a WATERMARK clause."""
        return self.statement.has_watermark

    @property
    def intervals(self) -> tuple[LiteralParameter, ...]:
        """The parameters that stand for the number of an interval."""
        return tuple(LiteralParameter(p.name, p.start, p.end) for p in self.parameters if p.is_interval)

    @property
    def lists(self) -> tuple[LiteralParameter, ...]:
        """The parameters that stand for all values of an `in (...)`."""
        return tuple(LiteralParameter(p.name, p.start, p.end) for p in self.parameters if p.is_list)


@lru_cache(maxsize=512)
def read(text: str, path: str) -> SqlText:
    """Read the one query of a text; what is no query, or does more than query, raises InvalidProject.

    A project is read again and again by whoever watches its files, and few of them have changed.
    """
    dialect.refuse_long(text, path)
    if found := [*templates.jinja(text, path)]:
        raise InvalidProject(found)
    statement = dialect.parse(text, path)
    if found := [*refusals.query_refusals(statement)]:
        raise InvalidProject(found)
    called = calls.calls(statement)
    return SqlText(
        statement=statement,
        inputs=tables.inputs(statement),
        parameters=calls.parameters(statement),
        calls=called,
        unexplained=routines.unexplained(statement, called),
        costs=costs.of(statement),
        stars=tuple(_stars(statement)),
        columns=scopes.output_columns(statement),
    )


def _stars(statement: Statement) -> Iterator[Place]:
    for select in statement.find_all(exp.Select):
        stored = {table.alias_or_name for table in _sources(select) if tables.is_stored(table, statement)}
        for projection in select.expressions:
            star = projection.this if isinstance(projection, exp.Column) else projection
            qualifier = projection.text("table")
            if isinstance(star, exp.Star) and "start" in star.meta and (qualifier in stored if qualifier else stored):
                yield statement.place(star.meta["start"])


def _sources(select: exp.Select) -> Iterator[exp.Table]:
    clauses = [select.args.get("from_"), *(select.args.get("joins") or ())]
    yield from (clause.this for clause in clauses if clause is not None and isinstance(clause.this, exp.Table))

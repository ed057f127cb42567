"""Data tests in a header: dbt's words for columns, SQL expressions for rows, and what a failure means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from headrace.errors import did_you_mean
from headrace.project.declarations.documents import Document, Shape, refuse
from headrace.project.declarations.shapes import Expression, Name
from headrace.project.model import DataTest, OnFailure, TestKind

Value = str | bool | int | float


class _Options(Shape):
    on_failure: OnFailure | None = None


class _Values(_Options):
    values: Annotated[tuple[Value, ...], Field(min_length=1)]


class _Target(_Options):
    to: str
    field: str


class _Row(_Options):
    expression: Expression


def _named(value: Any) -> Any:
    """Give a test that is only a name its empty options."""
    named = {value: None} if isinstance(value, str) else value
    if not isinstance(named, dict):
        return value
    for kind in named:
        if kind not in _ColumnTest.model_fields:
            known = [*_ColumnTest.model_fields]
            advice = did_you_mean(str(kind), known) or f" Known here: {', '.join(known)}."
            raise refuse("unknown-key", f"there is no test `{kind}`.{advice}")
    return {kind: {} if options is None else options for kind, options in named.items()}


def _values(value: Any) -> Any:
    return {"values": value} if isinstance(value, list) else value


def _expression(value: Any) -> Any:
    return {"expression": value} if isinstance(value, str) else value


def _list(value: Any) -> Any:
    return [value] if isinstance(value, (str, dict)) else value


class _ColumnTest(Shape):
    unique: _Options | None = None
    not_null: _Options | None = None
    accepted_values: Annotated[_Values, BeforeValidator(_values)] | None = None
    relationships: _Target | None = None

    @model_validator(mode="after")
    def _is_one(self) -> _ColumnTest:
        if len(self.model_fields_set) != 1:
            raise refuse("bad-value", "an item is one test: `not_null`, or `{accepted_values: [a, b]}`")
        return self

    @property
    def only(self) -> tuple[TestKind, _Options]:
        """The test, and its options."""
        kinds: tuple[TestKind, ...] = ("unique", "not_null", "accepted_values", "relationships")
        return next((kind, options) for kind in kinds if (options := getattr(self, kind)) is not None)


_Tests = Annotated[
    tuple[Annotated[_ColumnTest, BeforeValidator(_named)], ...], BeforeValidator(_list), Field(min_length=1)
]


class TestsShape(Shape):
    """The key `tests`; what does not say `on_failure` has that of all."""

    __test__ = False  # pytest: this is no test

    on_failure: OnFailure = "warn"
    columns: dict[str, _Tests] = Field(default_factory=dict)
    rows: dict[Name, Annotated[_Row, BeforeValidator(_expression)]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _are_named_apart(self) -> TestsShape:
        twice = [name for name, count in Counter(map(_name_of, self._pairs())).items() if count > 1]
        if twice or any(name in self.rows for name in map(_name_of, self._pairs())):
            raise refuse("bad-value", "two tests have the same name; a column has each kind of test once")
        return self

    def _pairs(self) -> Iterator[tuple[str, TestKind]]:
        return ((column, test.only[0]) for column, tests in self.columns.items() for test in tests)


def in_order(shape: TestsShape | None, document: Document) -> tuple[DataTest, ...]:
    """The tests as they stand in the header."""
    return tuple(_tests(shape, document)) if shape else ()


def _tests(shape: TestsShape, document: Document) -> Iterator[DataTest]:
    for column, tests in shape.columns.items():
        for number, test in enumerate(tests):
            kind, options = test.only
            to, field = (options.to, options.field) if isinstance(options, _Target) else (None, None)
            fails = _failing(column, kind, options)
            severity = options.on_failure or shape.on_failure
            place = document.value_place("tests", "columns", column, number)
            yield DataTest(_name_of((column, kind)), kind, fails, severity, column, to, field, place)
    for name, row in shape.rows.items():
        place = document.value_place("tests", "rows", name)
        fails = f"not ({row.expression}\n)"  # a comment may end the expression
        yield DataTest(name, "row", fails, row.on_failure or shape.on_failure, place=place)


def _name_of(pair: tuple[str, TestKind]) -> str:
    return "_".join(pair)


def _failing(column: str, kind: TestKind, options: _Options) -> str:
    value = f"`{column.replace('`', '``')}`"
    if kind == "not_null":
        return f"{value} is null"
    if isinstance(options, _Values):
        return f"{value} not in ({', '.join(map(_literal, options.values))})"
    return f"{value} is not null"


def _literal(value: Value) -> str:
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return str(value).lower() if isinstance(value, bool) else repr(value)

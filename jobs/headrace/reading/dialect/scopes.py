"""What names mean in a query: columns of its sources by Spark's rules, which ignore case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from headrace.reading.dialect.complaints import NotKnown, UnknownColumn
from headrace.reading.dialect.types import Type, array, quoted
from headrace.reading.dialect.values import Value, quoted_text
from headrace.reading.rows import BadQuery


@dataclass(frozen=True)
class Column:
    name: str
    value: Value


@dataclass(frozen=True)
class Source:
    """One relation of a FROM clause; `names` are its names, in lower case."""

    names: tuple[str, ...]
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Scope:
    """Where a name is looked up: sources first, then what the SELECT calls its own columns, then the query outside.

    `merged` are the columns of USING: one value for a name that two sources have. `lambdas` are the arguments of the
    functions around, by name.
    """

    sources: tuple[Source, ...] = ()
    merged: Mapping[str, Column] = field(default_factory=dict)
    aliases: Mapping[str, Value] = field(default_factory=dict)
    outer: Scope | None = None
    lambdas: Mapping[str, Value] = field(default_factory=dict)
    aliases_first: bool = False
    aggregates: bool = False

    def columns(self, qualifier: str | None) -> tuple[Column, ...]:
        """What `*` or `x.*` stands for."""
        if qualifier is not None:
            found = [source for source in self.sources if qualifier.lower() in source.names]
            if len(found) != 1:
                raise BadQuery(f"no table {qualifier} in this query")
            return found[0].columns
        rest = [
            column for source in self.sources for column in source.columns if column.name.lower() not in self.merged
        ]
        return (*self.merged.values(), *rest)

    def is_value(self, name: str) -> bool:
        """Whether a name is that of a column, and of no table."""
        return not any(name.lower() in found.names for found in self.sources) and self._bare((name,)) is not None

    def resolve(self, parts: tuple[str, ...]) -> Value:
        """The value of a dotted name: perhaps a table, a column, fields of a struct."""
        found = self._found(parts)
        if found is None:
            raise UnknownColumn(f"no column {'.'.join(parts)}{_there_are(self)}")
        return found

    def _found(self, parts: tuple[str, ...]) -> Value | None:
        first = parts[0].lower()
        if first in self.lambdas:
            return fields(self.lambdas[first], parts[1:])
        if self.aliases_first and len(parts) == 1 and first in self.aliases:
            return self.aliases[first]
        for size in range(min(len(parts) - 1, 2), 0, -1):
            qualifier = ".".join(parts[:size]).lower()
            sources = [source for source in self.sources if qualifier in source.names]
            if sources:
                return _in_source(sources, parts[size:], parts)
        if (value := self._bare(parts)) is not None:
            return value
        if first in self.aliases:
            return fields(self.aliases[first], parts[1:])
        return self.outer._found(parts) if self.outer is not None else None

    def _bare(self, parts: tuple[str, ...]) -> Value | None:
        first = parts[0].lower()
        if first in self.merged:
            return fields(self.merged[first].value, parts[1:])
        found = [column for source in self.sources for column in source.columns if column.name.lower() == first]
        if len(found) > 1:
            raise BadQuery(f"{parts[0]} is a column of more than one table: name the table as well")
        return fields(found[0].value, parts[1:]) if found else None

    def within(self, lambdas: Mapping[str, Value]) -> Scope:
        return replace(self, lambdas={**self.lambdas, **lambdas})


def _in_source(sources: list[Source], rest: tuple[str, ...], parts: tuple[str, ...]) -> Value | None:
    found = [column for source in sources for column in source.columns if column.name.lower() == rest[0].lower()]
    if len(found) > 1:
        raise BadQuery(f"{'.'.join(parts)} means more than one column")
    return fields(found[0].value, rest[1:]) if found else None


def fields(value: Value, names: tuple[str, ...]) -> Value:
    """A field of a struct, and of each struct of an array; names ignore case."""
    for name in names:
        value = _field(value, name)
    return value


def _field(value: Value, name: str) -> Value:
    if value.type.name == "array" and value.type.element.name == "struct":
        real, kind = _named(value.type.element, name)
        return Value(f"list_transform({value.sql}, lambda s: struct_extract(s, {quoted_text(real)}))", array(kind))
    if value.type.name == "map":
        raise NotKnown(f"the key {name} of a map as a field")
    real, kind = _named(value.type, name)
    return Value(f"struct_extract({value.sql}, {quoted_text(real)})", kind)


def _named(kind: Type, name: str) -> tuple[str, Type]:
    found = [(real, part) for real, part in kind.parts if real.lower() == name.lower() and kind.name == "struct"]
    if len(found) != 1:
        raise BadQuery(f"no field {name} in a {kind}")
    return found[0]


def _there_are(scope: Scope) -> str:
    names = [column.name for source in scope.sources for column in source.columns]
    return f"; there are {', '.join(names[:20])}" if names else ""


def source(alias: str, names: tuple[str, ...], columns: tuple[tuple[str, str, Type], ...]) -> Source:
    """A source whose columns are (name, name in SQL, type)."""
    return Source(
        tuple(name.lower() for name in names),
        tuple(Column(name, Value(f"{quoted(alias)}.{quoted(real)}", kind)) for name, real, kind in columns),
    )


Subquery = Callable[[object, Scope], tuple[str, tuple[tuple[str, Type], ...]]]
"""Translates a query inside an expression."""

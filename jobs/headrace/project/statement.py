"""A model's own text, with its tables bound to what Spark knows them as; positions stay traceable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.errors import Place
from headrace.project.literals import is_list, literal, quoted
from headrace.project.model import Input, Model


def view_name(table: str, stream: bool) -> str:
    """The temporary view a table is bound to; as long as the words it replaces, so that columns stay correct."""
    name = table.replace(".", "_")
    return f"stream_{name}" if stream else name


def view_names(model: Model) -> dict[Input, str]:
    """A temporary view for each reference, another one for each read of a stream."""
    met = Counter[str]()
    names: dict[Input, str] = {}
    for ref in model.inputs:
        name = view_name(ref.name, ref.stream)
        met[name] += ref.stream
        names[ref] = name if met[name] < 2 else f"{name}__{met[name]}"
    return names


@dataclass(frozen=True)
class Statement:
    """SQL as Spark gets it; `shifts` are (offset in sql, characters added before it)."""

    model: Model
    sql: str
    shifts: tuple[tuple[int, int], ...]

    def place(self, offset: int) -> Place:
        """The place in the model's file of an offset (from 0) in `sql`."""
        added = next((total for at, total in reversed(self.shifts) if at <= offset), 0)
        before = self.model.text[: max(offset - added, 0)]
        line = before.count("\n") + 1
        return Place(self.model.path, line, len(before) - (before.rfind("\n") + 1) + 1)


Edit = tuple[int, int, str]
"""A replacement of part of a model's text: start, end, and the new text."""


def bind(
    model: Model, name_of: Callable[[Input], str] | None = None, values: Mapping[str, Any] | None = None
) -> Statement:
    """Replace every table reference by its view's name and, with `values`, the parameters that must be literals."""
    references = [(ref.start, ref.end, _reference(model, ref, name_of)) for ref in model.inputs]
    return edited(model, [*references, *literals(model, values or {})])


def literals(model: Model, values: Mapping[str, Any]) -> Iterator[Edit]:
    """Parameters as literals where Spark requires them: `interval :gap seconds`, and a list in `in (:list)`."""
    for parameter in model.intervals:
        if parameter.name in values:
            yield parameter.start, parameter.end, quoted(str(values[parameter.name]))
    for parameter in model.lists:
        if is_list(value := values.get(parameter.name)):
            yield parameter.start, parameter.end, literal(value, in_brackets=True)


def edited(model: Model, edits: Iterable[Edit]) -> Statement:
    """A model's text with some pieces replaced; nothing else changes."""
    pieces: list[str] = []
    shifts: list[tuple[int, int]] = []
    done = added = 0
    for start, end, text in sorted(edits):
        pieces += [model.text[done:start], text]
        done = end
        added += len(text) - (end - start)
        shifts.append((end + added, added))
    return Statement(model, "".join([*pieces, model.text[done:]]), tuple(shifts))


def _reference(model: Model, ref: Input, name_of: Callable[[Input], str] | None) -> str:
    name = name_of(ref) if name_of else view_name(ref.name, ref.stream)
    lines = model.text[ref.start : ref.end].count("\n")
    # The alias comes after a WATERMARK clause, so a model of the streaming engine writes its own.
    alias = "" if ref.has_alias or model.run == "streaming" else f" as {ref.name.split('.')[1]}"
    return name + "\n" * lines + alias

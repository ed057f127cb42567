"""The rows of a topic that come with the project: a CSV file, each line of it a record."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path

from headrace.errors import Finding, InvalidProject, Place, did_you_mean
from headrace.project.files import read_text
from headrace.project.model import Field, Seed, Topic

_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = "[T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?"
_TEXTS = {"string": "(?s:.*)", "date": _DAY, "timestamp_ntz": f"{_DAY}({_CLOCK})?"}
_TEXTS["timestamp"] = f"{_DAY}({_CLOCK}(Z|[+-](0[0-9]|1[0-8]):?[0-5][0-9])?)?"
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_NUMBER = r"-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?"
_TOKENS = {"boolean": "true|false", **dict.fromkeys(_BITS, "-?(0|[1-9][0-9]*)")}
_TOKENS |= dict.fromkeys(("float", "double", "decimal"), _NUMBER)
_SHAPES = {name: re.compile(shape) for name, shape in (_TEXTS | _TOKENS).items()}
_text = json.JSONEncoder(ensure_ascii=False).encode
_NESTED = {"array": list, "struct": dict, "map": dict}


def read(root: Path, path: str, topic: Topic) -> tuple[Seed, ...]:
    """Read the file of a topic; all that is wrong with it raises InvalidProject.

    The first column is the key of the record, and a field too if it is named as one. An empty cell is no field.
    """
    lines = csv.reader(io.StringIO(read_text(root, path), newline=""), strict=True)
    found, seeds = list[Finding](), list[Seed]()
    try:
        header = next(lines, [])
        columns = _columns(topic)
        found += _header_findings(path, header, columns, topic)
        for cells in lines if not found else ():
            place = Place(path, lines.line_num)
            if len(cells) != len(header):
                found.append(Finding(place, "bad-value", f"{len(cells)} cells under {len(header)} columns"))
                continue
            tokens, wrong = _tokens(header, cells, columns)
            found += [Finding(place, "bad-value", message) for message in wrong]
            if not wrong:
                seeds.append(Seed(lines.line_num, cells[0], _value(topic, tokens)))
    except csv.Error as error:
        found.append(Finding(Place(path, lines.line_num), "syntax", f"this is no CSV: {error}"))
    if found:
        raise InvalidProject(found)
    return tuple(seeds)


def _columns(topic: Topic) -> dict[str, Field]:
    """The columns that a file may have beside the key; a bare value is in the column `value`."""
    if topic.scalar is not None:
        return {"value": Field("value", topic.scalar, True)}
    return {field.name: field for field in topic.fields}


def _header_findings(path: str, header: Sequence[str], columns: Mapping[str, Field], topic: Topic) -> Iterator[Finding]:
    place = Place(path, 1)
    for name in sorted({name for name in header if header.count(name) > 1}):
        yield Finding(place, "duplicate-column", f"there are two columns `{name}`")
    for name in header[0 if header[:1] != ["key"] else 1 :]:
        if name not in columns:
            message = f"`{name}` is no field of {topic.name}.{did_you_mean(name, columns)}"
            yield Finding(place, "unknown-column", message)
    for name, field in columns.items():
        if field.required and name not in header:
            yield Finding(place, "missing-key", f"the column `{name}` is missing; {topic.name} requires it")


def _tokens(
    header: Sequence[str], cells: Sequence[str], columns: Mapping[str, Field]
) -> tuple[dict[str, str], list[str]]:
    """The fields of a line as JSON, and what is wrong with its cells."""
    found, wrong = dict[str, str](), list[str]()
    if not cells[0]:
        wrong.append(f"`{header[0]}` is empty; the first column is the record's key")
    for name, cell in zip(header, cells, strict=True):
        field = columns.get(name)
        if field is None or not cell:
            wrong += [f"`{name}` is empty, and required"] if field is not None and field.required else ()
            continue
        try:
            found[name] = _token(field.type, cell)
        except ValueError:
            wrong.append(f"`{cell}` is no {field.type} for `{name}`")
    return found, wrong


def _value(topic: Topic, tokens: Mapping[str, str]) -> str:
    if topic.scalar is not None:
        return tokens["value"]
    return "{" + ", ".join(f"{_text(name)}: {token}" for name, token in tokens.items()) + "}"


def _token(kind: str, cell: str) -> str:
    """A cell as JSON; ValueError if it is none of its type. What is neither text nor number stands there as JSON."""
    name = _name(kind)
    shape = _SHAPES.get(name)
    if shape is None:
        if not isinstance(json.loads(cell, parse_constant=_no_json), _NESTED.get(name, object)):
            raise ValueError(cell)
        return cell
    if shape.fullmatch(cell) is None or not _fits(name, kind, cell):
        raise ValueError(cell)
    return _text(cell) if name in _TEXTS else cell


@cache
def _name(kind: str) -> str:
    return kind.partition("(")[0].partition("<")[0]


@cache
def _digits(kind: str) -> tuple[int, int]:
    """How many digits a decimal type has, and how many of them behind the point."""
    precision, scale = map(int, re.findall(r"\d+", kind))
    return precision, scale


def _fits(name: str, kind: str, cell: str) -> bool:
    """Whether a type holds a value that is written as its values are; ValueError for a day that no calendar has."""
    if name in _BITS:
        most = 1 << (_BITS[name] - 1)
        return -most <= int(cell) < most
    if name == "decimal":
        (precision, scale), number = _digits(kind), Decimal(cell)
        return not number or number.adjusted() < precision - scale
    if name in ("float", "double"):
        return math.isfinite(float(cell))
    return name not in _TEXTS or name == "string" or bool(date.fromisoformat(cell[:10]))


def _no_json(name: str) -> None:
    raise ValueError(name)

"""YAML files whose values know their line and column."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from headrace.errors import Finding, InvalidProject, Place, did_you_mean
from headrace.project.declarations import indentation

LONGEST = 2_000_000
"""How many characters a YAML text may have; those of a project have a few thousand."""

MOST_VALUES = 100_000
"""How many values a text may have, with each alias expanded."""

Keys = tuple[str | int, ...]
ShapeT = TypeVar("ShapeT", bound="Shape")


class Shape(BaseModel):
    """What a mapping may hold; any other key is a finding.

    Few are validated by themselves; the others are built only as parts of these.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


@dataclass(frozen=True)
class Document:
    """One parsed YAML text: its value, and the place of every key and value in it."""

    path: str
    value: Any
    key_places: Mapping[Keys, Place]
    value_places: Mapping[Keys, Place]

    def key_place(self, *keys: str | int) -> Place:
        """Return where the last of `keys` stands, or the nearest thing around it."""
        return _nearest(self.key_places, keys, Place(self.path))

    def value_place(self, *keys: str | int) -> Place:
        """Return where the value under `keys` starts, or the nearest thing around it."""
        return _nearest(self.value_places, keys, Place(self.path))


def parse(text: str, path: str) -> Document:
    """Read YAML text; syntax errors, duplicate keys and values such as no date raise InvalidProject."""
    yaml = YAML(typ="safe", pure=True)
    if len(text) > LONGEST:
        raise InvalidProject([Finding(Place(path), "syntax", _too_large(f"{len(text):,} characters", LONGEST))])
    try:
        node = yaml.compose(text)
        nodes = _counted(node, path) if node else {}
        key_places = {keys: _place(path, key) for keys, (key, _) in nodes.items() if key is not None}
        value_places = {keys: _value_place(path, key, value) for keys, (key, value) in nodes.items()}
        if found := [*_duplicates(node, path), *_unreadable_values(yaml, node, path)]:
            raise InvalidProject(found)
        return Document(path, yaml.constructor.construct_document(node) if node else None, key_places, value_places)
    except MarkedYAMLError as error:
        raise InvalidProject([_syntax_finding(error, text, path)]) from None
    except RecursionError:
        message = "this is nested too deeply, or an alias refers to itself"
        raise InvalidProject([Finding(Place(path), "syntax", message)]) from None
    except (YAMLError, ValueError) as error:
        message = f"this is not YAML: {str(error).splitlines()[0]}"
        raise InvalidProject([Finding(Place(path), "syntax", message)]) from None


def validate(document: Document, shape: type[ShapeT], at: Keys = (), without: Collection[str] = ()) -> ShapeT:
    """Return the mapping under `at`, less the keys `without`, as a `shape`; what does not fit raises InvalidProject."""
    value = _value_at(document.value, at)
    if isinstance(value, Mapping):
        value = {key: item for key, item in value.items() if key not in without}
    try:
        return shape.model_validate({} if value is None else value)
    except ValidationError as error:
        details = error.errors(include_url=False)
        raise InvalidProject(_shape_finding(document, shape, at, detail) for detail in details) from None


def merged(wider: Any, nearer: Any) -> Any:
    """A value over another one: mappings are merged key by key, anything else is replaced."""
    if not isinstance(wider, Mapping) or not isinstance(nearer, Mapping):
        return nearer
    return {**wider, **{key: merged(wider.get(key), item) for key, item in nearer.items()}}


def refuse(code: str, message: str) -> PydanticCustomError:
    """Return the error with which a validator of a Shape reports its own finding."""
    return PydanticCustomError("refused", "{message}", {"message": message, "code": code})


def _counted(node: Node, path: str) -> dict[Keys, tuple[Node | None, Node]]:
    """All nodes by their keys; aliases of aliases may come to more than memory holds."""
    nodes = dict[Keys, tuple[Node | None, Node]]()
    for count, (keys, pair) in enumerate(_nodes(node, ())):
        nodes[keys] = pair
        if count == MOST_VALUES:
            message = _too_large(f"more than {count:,} values with its aliases", MOST_VALUES)
            raise InvalidProject([Finding(_place(path, pair[1]), "syntax", message)])
    return nodes


def _too_large(size: str, most: int) -> str:
    return f"this file has {size}, and {most:,} are the most here; split it"


def _nodes(node: Node, keys: Keys, key: Node | None = None) -> Iterator[tuple[Keys, tuple[Node | None, Node]]]:
    yield keys, (key, node)
    if isinstance(node, MappingNode):
        for key_node, value_node in node.value:
            yield from _nodes(value_node, (*keys, _key(key_node)), key_node)
    elif isinstance(node, SequenceNode):
        for index, item in enumerate(node.value):
            yield from _nodes(item, (*keys, index))


def _key(node: Node) -> str | int:
    if node.tag == "tag:yaml.org,2002:int" and re.fullmatch(r"-?\d+", node.value):
        return int(node.value)
    return str(node.value)


def _duplicates(node: Node | None, path: str) -> Iterator[Finding]:
    for child in [] if node is None else [value for _, (_, value) in _nodes(node, ())]:
        first: dict[str | int, Place] = {}
        for key_node, _ in child.value if isinstance(child, MappingNode) else []:
            key, place = _key(key_node), _place(path, key_node)
            if key in first:
                yield Finding(place, "duplicate-key", f"`{key}` is given twice, in line {first[key].line} too")
            first.setdefault(key, place)


def _unreadable_values(yaml: YAML, node: Node | None, path: str) -> Iterator[Finding]:
    """Find scalars that are not of the type that they look like: dates that do not exist, or `!!int x`."""
    for scalar in _scalars(node) if node else ():
        try:
            yaml.constructor.construct_object(scalar)
        except (ValueError, KeyError, OverflowError):
            kind = str(scalar.tag).rpartition(":")[2].replace("timestamp", "date or time")
            message = f"`{scalar.value[:50]}` is no {kind}; correct it, or put a text in quotes"
            yield Finding(_place(path, scalar), "bad-value", message)


def _scalars(node: Node) -> Iterator[ScalarNode]:
    for pair in _nodes(node, ()):
        yield from (each for each in pair[1] if isinstance(each, ScalarNode))


def _value_place(path: str, key: Node | None, value: Node) -> Place:
    """Where a value starts; an empty one has no text, and YAML places it before the next token, so its key is used."""
    is_empty = value.start_mark.index == value.end_mark.index
    return _place(path, key if is_empty and key is not None else value)


def _place(path: str, node: Node) -> Place:
    return Place(path, node.start_mark.line + 1, node.start_mark.column + 1)


def _nearest(places: Mapping[Keys, Place], keys: Keys, default: Place) -> Place:
    for length in range(len(keys), -1, -1):
        if keys[:length] in places:
            return places[keys[:length]]
    return default


def _syntax_finding(error: MarkedYAMLError, text: str, path: str) -> Finding:
    mark = error.problem_mark or error.context_mark
    problem = str(error.problem or error.context or "it cannot be parsed")
    if mark is None:
        return Finding(Place(path), "syntax", f"this is not YAML: {problem}")
    place = Place(path, mark.line + 1, mark.column + 1)
    if mark.line < len(lines := text.splitlines()) and re.search(r"\{\{|\{%", lines[mark.line]):
        return Finding(
            place, "jinja", "there are no templates here; write the value itself, and values that differ in conf/"
        )
    if explanation := indentation.explained(lines, mark.line, mark.column, problem):
        return Finding(place, "syntax", explanation)
    advice = "; put a text that holds `: ` in quotes" if "mapping values" in problem else ""
    return Finding(place, "syntax", f"this is not YAML: {problem}{advice}")


def _shape_finding(document: Document, shape: type[Shape], at: Keys, detail: ErrorDetails) -> Finding:
    keys = (*at, *_keys_of(_value_at(document.value, at), detail["loc"]))
    last = str(detail["loc"][-1]) if detail["loc"] else ""
    dotted = ".".join(map(str, keys))
    if detail["type"] == "extra_forbidden":
        known = _known_keys(shape, detail["loc"][:-1])
        advice = did_you_mean(last, known) or f" Known here: {', '.join(known)}."
        return Finding(document.key_place(*keys), "unknown-key", f"no key `{last}` is known here.{advice}")
    if detail["type"] == "missing":
        return Finding(document.key_place(*keys), "missing-key", f"`{last}` is missing here; add `{last}: ...`")
    code = detail["ctx"]["code"] if detail["type"] == "refused" else "bad-value"
    return Finding(document.value_place(*keys), code, f"`{dotted}`: {_advice(detail)}" if dotted else _advice(detail))


def _advice(detail: ErrorDetails) -> str:
    """Reword pydantic's message, which is about Python, for users who write YAML."""
    message = re.sub(r"valid dictionary( or instance of \w+)?", "mapping (`key: value`)", detail["msg"])
    message = message.replace("valid tuple", "list (`[a, b]`)")
    message = message[0].lower() + message[1:]
    if "mapping" in message and re.match(r"\w+:\S", str(detail["input"])):
        message += "; put a space behind the colon"
    if detail["type"] == "literal_error" and isinstance(detail["input"], str):
        message += "." + did_you_mean(detail["input"], re.findall(r"'([^']+)'", detail["ctx"]["expected"]))
    return message.rstrip(".") if message.endswith("'.") else message


def _value_at(value: Any, keys: Keys) -> Any:
    for key in keys:
        if isinstance(value, Mapping):
            value = value.get(key)
        else:
            value = value[key] if isinstance(value, list) and isinstance(key, int) else None
    return value


def _keys_of(value: Any, loc: Keys) -> Keys:
    """Drop what is no key of the document, such as the names pydantic gives to the branches of a union."""
    keys: list[str | int] = []
    for part in loc:
        if (isinstance(value, Mapping) and part in value) or (isinstance(value, list) and isinstance(part, int)):
            keys.append(part)
            value = _value_at(value, (part,))
    return tuple(keys)


def _known_keys(shape: type[Shape], loc: Keys) -> list[str]:
    annotation: Any = shape
    for part in loc:
        inner = _shape_in(annotation)
        if inner is not None and (field := _field(inner, part)) is not None:
            annotation = field
    inner = _shape_in(annotation)
    return [field.alias or name for name, field in inner.model_fields.items()] if inner else []


def _field(shape: type[Shape], key: str | int) -> Any:
    for name, field in shape.model_fields.items():
        if key in (name, field.alias):
            return field.annotation
    return None


def _shape_in(annotation: Any) -> type[Shape] | None:
    """Find the Shape in `X`, `X | None`, `dict[str, X]` or `tuple[X, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, Shape):
        return annotation
    if get_origin(annotation) in (Annotated, Union, UnionType, dict, tuple, list):
        return next((found for arg in get_args(annotation) if (found := _shape_in(arg))), None)
    return None

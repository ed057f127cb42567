"""The first comment of a model file: a sentence that describes it, then YAML that says how it runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from headrace.errors import Finding, InvalidProject, Place
from headrace.project.declarations import datatests, documents
from headrace.project.declarations.datatests import TestsShape
from headrace.project.declarations.documents import Document, Shape, refuse
from headrace.project.declarations.settings import Settings
from headrace.project.declarations.shapes import Allowances, Every, Expression, Texts, TopicName, Type
from headrace.project.files import place_at
from headrace.project.model import DataTest, Publish


@dataclass(frozen=True)
class Header:
    """What a model declares of itself; `places` are those of its keys, nested ones with dots."""

    description: str
    keys: HeaderKeys
    publish: Publish | None
    tests: tuple[DataTest, ...]
    places: Mapping[str, Place]


@lru_cache(maxsize=512)
def read(text: str, path: str) -> Header:
    """Read the header of a model file; all that is wrong with it raises InvalidProject."""
    match = re.match(r"\s*/\*(.*?)\*/", text, flags=re.DOTALL)
    if match is None:
        message = "a model starts with `/* ... */`: a sentence that says what a row is, an empty line, then YAML keys"
        raise InvalidProject([Finding(Place(path), "missing-header", message)])
    start, end = match.span(1)
    split = _description_end(text, start, end)
    found = [*_description_findings(text, path, start, split)]
    try:
        document = documents.parse(_blank(text[:split]) + text[split:end], path)
        keys = documents.validate(document, HeaderKeys)
    except InvalidProject as error:
        raise InvalidProject([*found, *error.findings]) from None
    if found:
        raise InvalidProject(found)
    tests = datatests.in_order(keys.tests, document)
    return Header(" ".join(text[start:split].split()), keys, _publish(keys.publish), tests, _places(document))


def _topic(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


class _PublishTopic(Shape):
    name: TopicName | None = None
    column: str | None = None

    @model_validator(mode="after")
    def _is_one(self) -> _PublishTopic:
        if (self.name is None) == (self.column is None):
            raise refuse("bad-value", "name one topic, or `{column: ...}`, the column that holds its name")
        return self


class _Publish(Shape):
    topic: Annotated[_PublishTopic, BeforeValidator(_topic, json_schema_input_type=str | _PublishTopic)]
    key: str
    value: Annotated[dict[str, str], Field(min_length=1)]
    tombstone_when: Expression | None = None
    start: Literal["earliest", "latest"] | None = None


class HeaderKeys(Settings):
    """The YAML keys of a header."""

    unique_key: Texts = ()
    once_per: Texts = ()
    delete_when: Expression | None = None
    close_when: Expression | None = None
    remember: Every | None = None
    every: Every | None = None
    columns: dict[str, Type] = Field(default_factory=dict)
    publish: _Publish | None = None
    allow: Allowances = Field(default_factory=dict)
    tests: TestsShape | None = None


def _description_end(text: str, start: int, end: int) -> int:
    """Return where the first paragraph ends: at an empty line, or at once where YAML comes first."""
    body = text[start:end]
    first = re.match(r"\s*", body)
    offset = first.end() if first else 0
    if re.match(r"[a-z]\w*:(\s|$)", body[offset:]):  # keys are lower-case, sentences are not
        return start
    paragraph = re.search(r"\n[ \t]*\n", body[offset:])
    return start + offset + paragraph.start() if paragraph else end


def _description_findings(text: str, path: str, start: int, end: int) -> list[Finding]:
    description = text[start:end].strip()
    if not description:
        message = "the header starts with a sentence that says what one row is"
        return [Finding(place_at(path, text, start), "missing-key", f"the description is missing; {message}")]
    place = place_at(path, text, text.index(description, start))
    if description[0].islower() or not description.endswith("."):
        message = "the description is a sentence: a capital, a full stop, then an empty line before the YAML keys"
        return [Finding(place, "bad-value", message)]
    return []


def _blank(text: str) -> str:
    """Replace everything but line ends by spaces, so that what follows keeps its line and column."""
    return re.sub(r"[^\n]", " ", text)


def _publish(shape: _Publish | None) -> Publish | None:
    if shape is None:
        return None
    whole = shape.value["json"] if [*shape.value] == ["json"] else None
    value = () if whole else tuple(shape.value.items())
    return Publish(shape.key, value, shape.topic.name, shape.topic.column, shape.tombstone_when, shape.start, whole)


def _places(document: Document) -> dict[str, Place]:
    return {".".join(map(str, keys)): document.value_place(*keys) for keys in document.value_places if keys}

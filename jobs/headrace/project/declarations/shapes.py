"""Kinds of values in the YAML of a project: names, texts, SQL expressions, variables, options, durations, addresses."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from headrace.errors import did_you_mean
from headrace.project.declarations import fieldtypes
from headrace.project.declarations.documents import refuse
from headrace.project.kafka_options import topic_names
from headrace.project.sql import expressions
from headrace.project.sql.guard import builtins

SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "day": 86400.0, "days": 86400.0}


def is_name(text: str) -> bool:
    """Return whether a text can name a model, a source, a macro or a query."""
    return re.fullmatch(r"[a-z][a-z0-9_]{0,62}", text) is not None


def _name(text: str) -> str:
    if not is_name(text):
        raise refuse("bad-name", "a name is a lower-case letter, then letters, digits and _, at most 63 in all")
    return text


def _texts(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _expression(text: str) -> str:
    try:
        expressions.columns_of(text)
    except ValueError as error:
        raise refuse("syntax", str(error)) from None
    if message := expressions.refusal(text):
        raise refuse("not-allowed", message)
    return text


def canonical_type(text: str) -> str:
    """Return a type in its canonical form; a text that is no type is a finding."""
    try:
        return fieldtypes.canonical(text)
    except ValueError as error:
        raise refuse("bad-value", f"`{text}` is no type of Spark: {error}") from None


def _variable(value: Any) -> Any:
    if isinstance(value, Mapping):
        raise refuse("bad-value", "a variable is a text, a number, a boolean, null or a list of these")
    return value


def _option(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (int, float)) else value


def _reason(text: str) -> str:
    if len(text.split()) < 3:
        raise refuse("bad-value", "say in a few words why this is right here")
    return text


def _function(name: str) -> str:
    if not re.fullmatch(r"[a-z_]\w*(\.[a-z_]\w*)*", name):
        raise refuse("bad-name", f"`{name}` names no function; write it in lower case, with its catalog if any")
    if reason := builtins.NEVER.get(name):
        raise refuse("not-allowed", f"`{name}` cannot be allowed: {reason}")
    return name


def seconds(value: Any) -> float:
    """Parse a duration; a text that is none is a finding."""
    match = re.fullmatch(_DURATION, str(value))
    if match is None:
        raise refuse("bad-value", "a duration is a number and a unit: `500ms`, `1s`, `2m`, `30 days`")
    return float(match[1]) * SECONDS[match[2]]


def bootstrap_fault(text: str) -> str | None:
    """Return why a text is no address of Kafka, if it is none."""
    addresses = [re.fullmatch(_ADDRESS, address.strip()) for address in text.split(",")]
    if text == "embedded" or all(match and 0 < int(match[1]) < 65536 for match in addresses):
        return None
    return f"`{text}` is neither `embedded` nor `host:port,host:port`.{did_you_mean(text, ['embedded'])}"


def folder_fault(text: str) -> str | None:
    """Return why a text is no path of a folder, if it is none; `~/` is the home folder."""
    if not text.strip():
        return "the path is empty; name a folder"
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+:/", text):
        return f"`{text}` is no path; this is a folder of a file system; an object store is named in `store`"
    if re.search(r"\$[a-zA-Z_{]", text) or re.match("~[^/]", text):
        return f"`{text}`: no shell reads this; write `~/...`, or `env:NAME` for a variable that holds the whole path"
    return path_fault(text)


def path_fault(folder: str) -> str | None:
    """Return why tables cannot be read in a folder of this path, if they cannot."""
    if found := re.search(r"[%\\\[\]{}*?\x00-\x1f\x7f]", folder):
        what = "which Spark or Delta take for a pattern or for another letter"
        return f"`{folder}` has {found[0]!r} in it, {what}; name another folder"
    return None


def store_fault(text: str) -> str | None:
    """Return why a text names no store, if it does not: it is a path, or a URL."""
    return None if "://" in text else folder_fault(text)


def _checked(fault: Callable[[str], str | None], code: str = "bad-value") -> AfterValidator:
    def check(text: str) -> str:
        if message := fault(text):
            raise refuse(code, message)
        return text

    return AfterValidator(check)


def _every(value: Any) -> Any:
    if isinstance(value, str) and re.fullmatch(r":[a-z]\w*", value):
        return value[1:]
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
        return float(value)
    raise refuse("bad-value", "a number of seconds, or a variable that holds one, such as `:snapshot_every`")


Allowed = Literal[
    "concatenated-key",
    "cross-join",
    "current-time",
    "cut-dependent",
    "processing-time",
    "unbounded-join",
    "unbounded-pattern",
    "unbounded-size",
    "unbounded-state",
]
"""Codes of findings that a header may allow: the model runs, and the author has decided that it is right."""

Allowances = dict[Allowed, Annotated[str, AfterValidator(_reason)]]
Functions = dict[Annotated[str, AfterValidator(_function)], Annotated[str, AfterValidator(_reason)]]
Name = Annotated[str, AfterValidator(_name)]
Expression = Annotated[str, AfterValidator(_expression)]
Type = Annotated[str, AfterValidator(canonical_type)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_texts, json_schema_input_type=str | tuple[str, ...])]
Vars = dict[str, Annotated[Any, AfterValidator(_variable)]]
Every = Annotated[float | str, BeforeValidator(_every, json_schema_input_type=float | str)]
Options = dict[str, Annotated[str, BeforeValidator(_option, json_schema_input_type=str | float | bool)]]
_DURATION = r"^(\d+(?:\.\d+)?) *(ms|s|m|h|d|days?)$"
_DurationText = Annotated[str, Field(pattern=_DURATION, examples=["500ms"])]
_ADDRESS = r"(?:[a-zA-Z0-9._-]+|\[[0-9a-fA-F:.]+(?:%\w+)?\]):([0-9]{1,5})"
Bootstrap = Annotated[str, _checked(bootstrap_fault)]
FolderPath = Annotated[str, _checked(folder_fault)]
StoreUrl = Annotated[str, _checked(store_fault)]
TopicName = Annotated[str, _checked(topic_names.fault, "bad-name")]
Duration = Annotated[float, BeforeValidator(seconds, json_schema_input_type=_DurationText)]


def _at_least(shortest: float, why: str) -> AfterValidator:
    def check(value: float) -> float:
        if value < shortest:
            raise refuse("bad-value", f"{why}: at least {shortest / 60:g}m")
        return value

    return AfterValidator(check)


SHORTEST_HISTORY = 120.0
"""Seconds; a reader may go by what it knew of a table a minute ago."""

SHORTEST_KEEP = 3600.0
"""Seconds; for less, an upsert with `delete_when` is the better table."""

History = Annotated[Duration, _at_least(SHORTEST_HISTORY, "readers need what was replaced for a while")]
Keep = Annotated[Duration, _at_least(SHORTEST_KEEP, "rows leave file by file")]

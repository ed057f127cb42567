"""Spark types as text: those that the schema of a topic may have."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from headrace.errors import did_you_mean

_SYNONYMS = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint", "real": "float"}
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")
_OTHERS = ("string", "boolean", "date", "timestamp", "timestamp_ntz", "binary", "variant")
SIMPLE = {**_SYNONYMS, **{word: word for word in (*_NUMBERS, *_OTHERS)}}
"""Types without parts: each word Spark has for one, and the usual word."""


def split_required(text: str) -> tuple[str, bool]:
    """Split `string not null` into the type and whether a value is required."""
    bare = re.sub(r"\s+not\s+null\s*$", "", text, flags=re.IGNORECASE)
    return bare.strip(), bare != text


def canonical(text: str) -> str:
    """Return a type in its canonical form, such as `array<struct<id: bigint>>`; ValueError if it is none."""
    tokens = _tokens(text)
    try:
        written = _type(tokens)
    except IndexError:
        raise ValueError("the type ends too early") from None
    except RecursionError:
        raise ValueError("the type is nested too deeply") from None
    if tokens:
        raise ValueError(f"`{tokens[0]}` is too much")
    return written


def members(text: str) -> dict[str, str]:
    """Return the members of a struct, as `canonical` writes it, and their types; none of another type."""
    tokens = _tokens(text)
    if tokens[0] != "struct" or len(tokens) < 2:
        return {}
    tokens.popleft()
    tokens.popleft()
    return {name.strip("`"): kind for name, kind in _named(tokens)}


def _tokens(text: str) -> deque[str]:
    return deque(re.findall(r"`[^`]+`|\w+|\S", text))


def _type(tokens: deque[str]) -> str:
    word = tokens.popleft().lower()
    if word in SIMPLE:
        return SIMPLE[word]
    if word in ("decimal", "dec", "numeric"):
        return f"decimal{_precision(tokens)}"
    if word not in NESTED:
        raise ValueError(f"`{word}` is no type.{did_you_mean(word, [*SIMPLE, *NESTED, 'decimal'])}")
    _expect(tokens, "<")
    parts = [*NESTED[word](tokens)]
    _expect(tokens, ">")
    return f"{word}<{', '.join(parts)}>"


def _precision(tokens: deque[str]) -> str:
    if not tokens or tokens[0] != "(":
        return "(10,0)"
    text = "".join(iter(tokens.popleft, ")")) + ")"
    match = re.fullmatch(r"\((\d+)(?:,(\d+))?\)", text)
    if match is None or not int(match[2] or 0) <= int(match[1]) <= 38:
        raise ValueError(f"`decimal{text}` is no type")
    return f"({match[1]},{match[2] or 0})"


def _array(tokens: deque[str]) -> Iterator[str]:
    yield _type(tokens)


def _map(tokens: deque[str]) -> Iterator[str]:
    yield _type(tokens)
    _expect(tokens, ",")
    yield _type(tokens)


def _struct(tokens: deque[str]) -> Iterator[str]:
    yield from (f"{name}: {kind}" for name, kind in _named(tokens))


def _named(tokens: deque[str]) -> Iterator[tuple[str, str]]:
    yield _member(tokens)
    while tokens[0] == ",":
        tokens.popleft()
        yield _member(tokens)


def _member(tokens: deque[str]) -> tuple[str, str]:
    name = tokens.popleft()
    if not re.fullmatch(r"`[^`]+`|\w+", name):
        raise ValueError(f"`{name}` is no name of a field")
    if tokens[0] == ":":
        tokens.popleft()
    return name, _type(tokens)


def _expect(tokens: deque[str], token: str) -> None:
    if (got := tokens.popleft()) != token:
        raise ValueError(f"expected `{token}`, found `{got}`")


NESTED = {"array": _array, "map": _map, "struct": _struct}
"""Types with parts, and how to read their parts."""

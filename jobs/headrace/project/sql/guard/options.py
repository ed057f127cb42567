"""Options of functions that read a file: each option must be written out, and must be none of those."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

_READERS = {"from_avro": 2, "from_xml": 2, "schema_of_avro": 1, "schema_of_xml": 1, "to_avro": 1}
"""Functions with such options, and the first argument that may hold them."""

_OF_FILES = frozenset({"avroschemaurl", "rowvalidationxsdpath"})

NAMES = frozenset(_READERS)


def faults(tree: exp.Expr) -> Iterator[tuple[int, str]]:
    """Find such options in a tree whose functions are names with arguments: offset, and what to do."""
    for call in tree.find_all(exp.Anonymous):
        name = call.name.lower()
        for argument in call.expressions[_READERS[name] :] if name in _READERS else ():
            if message := _fault(argument):
                yield int(call.meta.get("start", 0)), f"`{name}`: {message}"


def _fault(argument: exp.Expr) -> str | None:
    if _is_text(argument):
        return None  # a schema
    if not isinstance(argument, exp.Anonymous) or argument.name.lower() != "map":
        return "write its options as `map('name', 'value')`"
    if not all(map(_is_text, argument.expressions)):
        return "write each name and value of its options as a text"
    found = [key.name for key in argument.expressions[::2] if key.name.lower() in _OF_FILES]
    return f"the option {found[0]} reads a file; take it out" if found else None


def _is_text(argument: exp.Expr) -> bool:
    return isinstance(argument, exp.Literal) and argument.is_string

"""Regular expressions and `like` patterns: each is written out, and none may run without end.

Java's regular expressions backtrack, and nothing interrupts them. A pattern that comes from a row is code from a
record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from headrace.project.sql.guard import runtimes
from headrace.project.sql.guard.forms import arguments, name_of, offset, text_of
from headrace.project.sql.guard.regexes import Unclear

_EXPRESSIONS: Mapping[str, tuple[int, ...]] = {
    "parse_url": (2,), "regexp": (1,), "regexp_count": (1,), "regexp_extract": (1,), "regexp_extract_all": (1,),
    "regexp_instr": (1,), "regexp_like": (1,), "regexp_replace": (1,), "regexp_substr": (1,), "rlike": (1,),
    "split": (1,), "str_to_map": (1, 2), "try_parse_url": (2,),
}  # fmt: skip
"""Functions that match with regular expressions, and which of their arguments these are.

The key of `parse_url` is put into one as it is.
"""

_WILDCARDS: Mapping[str, tuple[int, ...]] = {"ilike": (1,), "like": (1,)}
"""Functions whose patterns, with `%` and `_`, Spark turns into regular expressions."""

NAMES = frozenset((*_EXPRESSIONS, *_WILDCARDS))
"""Functions that match with a pattern."""

_MOST_WILDCARDS = 8
_FROM_A_ROW = "its pattern is not written out, and one from a row may run forever; write it as one literal"
_PLAIN = {
    "like": ", or use `contains`, `startswith` or `endswith`",
    "ilike": ", or use `contains(lower(...), lower(...))`",
    "split": ", or use `split_part`",
}


def faults(tree: exp.Expr) -> Iterator[tuple[int, str]]:
    """Find the patterns of a tree that come from rows, or that may run without end: offset, and what to do."""
    for node in tree.walk():
        name = name_of(node)
        if name in NAMES:
            for at in {**_EXPRESSIONS, **_WILDCARDS}[name]:
                yield from ((offset(node), f"`{name}`: {fault}") for fault in _of_argument(name, arguments(node), at))


def _of_argument(name: str, values: list[exp.Expr], at: int) -> Iterator[str]:
    if any(isinstance(each, exp.Kwarg) for each in values):
        yield "give its arguments without names"
    elif at < len(values):
        for pattern in _alternatives(values[at]):
            if isinstance(pattern, exp.Placeholder):
                continue  # a variable holds what the author of the project has written
            if (text := text_of(pattern)) is None:
                yield f"{_FROM_A_ROW}{_PLAIN.get(name, '')}"
            elif (message := _of_wildcards(text) if name in _WILDCARDS else _of_expression(text)) is not None:
                yield message


def _alternatives(pattern: exp.Expr) -> list[exp.Expr]:
    """The patterns of `like any (...)`, or the only one."""
    if not isinstance(pattern, (exp.Any, exp.All)):
        return [pattern]
    inner = pattern.this
    return inner.expressions if isinstance(inner, exp.Tuple) else [inner]


def _of_wildcards(text: str) -> str | None:
    count = text.replace("%%", "%").count("%")
    if count <= _MOST_WILDCARDS:
        return None
    return f"a pattern with {count} `%` may run forever; at most {_MOST_WILDCARDS} are allowed here"


def _of_expression(text: str) -> str | None:
    try:
        if not runtimes.is_endless(text):
            return None
    except Unclear:
        return f"the regular expression `{text[:80]}` is not understood here; write it plainly"
    return (
        f"the regular expression `{text[:80]}` may run forever: a repetition in it matches one text in many ways;"
        " let it start or end with what nothing else in it matches, or make it possessive (`a++`, `(?>...)`)"
    )

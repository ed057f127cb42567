"""How much longer than its arguments the result of a function may be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from sqlglot import exp

from headrace.project.sql.guard.bounds import HOLDINGS, range_of
from headrace.project.sql.guard.builtins import words
from headrace.project.sql.guard.forms import arguments, is_constant, name_of, text_of
from headrace.project.sql.guard.regexes import Unclear, read
from headrace.project.sql.guard.runtimes import may_be_empty

FOLDS = frozenset({"aggregate", "reduce"})
"""Functions that carry a value from one element to the next."""

TOGETHER = words(
    """
    array array_append array_insert array_prepend array_union arrays_zip concat concat_ws format_string map map_concat
    map_from_arrays named_struct overlay printf regexp_replace replace struct
    """
)
"""Functions whose results hold all of their arguments."""

_TIMES: Mapping[str, int] = {
    "base64": 2, "encode": 4, "hex": 2, "quote": 2, "regexp_extract_all": 4, "sentences": 4, "split": 4, "to_char": 2,
    "to_csv": 3, "to_json": 4, "to_varchar": 2, "to_xml": 10, "url_encode": 3,
}  # fmt: skip
"""Functions whose results may be longer than their arguments, and how many times."""

_BY_ARGUMENTS = frozenset({"array_join", "concat_ws", "format_string", "printf", "regexp_replace", "replace"})
"""Those of which their arguments say how many times."""

AGAIN = frozenset({"array_repeat", "repeat"})
"""Functions that put a value again and again, of which `sizes` judges how often."""

SIZED: Mapping[str, int] = {"lpad": 1, "repeat": 1, "rpad": 1, "sequence": 1, "space": 0}
"""Functions whose results are as large as one of their arguments says, and which."""

_OVER_ELEMENTS = words("map_zip_with transform transform_keys transform_values zip_with")
NAMES = FOLDS | TOGETHER | frozenset(_TIMES) | _BY_ARGUMENTS | _OVER_ELEMENTS
"""Functions whose results may grow beyond what they are made of."""

_SHORT = words("crc32 date_format hash md5 sha sha1 sha2 xxhash64") | HOLDINGS
"""Functions whose results do not grow with what they are given."""

_CUT: Mapping[str, int] = {"left": 1, "right": 1, "substr": 2, "substring": 2}
"""Functions that give a piece of a text, and which argument tells how long it is at most."""

_LONGEST_PIECE = 1_000

_MANY = 10
"""What the elements of an array count as, where nothing says how many there are."""

_REFERENCE = re.compile(r"\$(?:\d|\{\w+\})")
_PLACE = re.compile(r"%(\d+)\$")


def times(name: str, values: list[exp.Expr]) -> int:
    """How many times longer than its arguments a result may be."""
    if name == "replace":
        return _of_replacement(values[1:])
    if name == "regexp_replace" and len(values) > 2:
        return _of_pattern(*values[1:3])
    if name == "array_join" and len(values) > 1:
        return 1 if name_of(values[0]) == "array" else times_by_separator(values[1])
    if name in ("format_string", "printf") and values:
        text = text_of(values[0])
        return 2 if text is None else max(Counter(_PLACE.findall(text)).values(), default=1)
    return _TIMES.get(name, 1)


def times_by_separator(separator: exp.Expr) -> int:
    """How many times longer a text becomes by what is put between its elements; `split` has counted a few letters."""
    text = text_of(separator)
    return 2 if text is None else max(-(-len(text) // 4), 1)


def elements(array: exp.Expr) -> int:
    """How many elements an array has, as far as it is not the business of `sizes`."""
    name = name_of(array)
    if name == "array":
        return max(len(arguments(array)), 1)
    return 2 if name in ("sequence", "array_repeat") else _MANY


def is_short(name: str | None, values: list[exp.Expr]) -> bool:
    """Whether a result stays short, whatever the arguments hold."""
    if (at := _CUT.get(name or "")) is not None:
        return len(values) > at and range_of(values[at]).farthest <= _LONGEST_PIECE
    return name in _SHORT and all(map(is_constant, values[1:]))


def _of_replacement(values: list[exp.Expr]) -> int:
    """How many times longer a text becomes by `replace`, each letter of which may be replaced."""
    if len(values) < 2:
        return 1
    old, new = map(text_of, values[:2])
    return 2 if new is None else max(-(-len(new) // max(len(old or ""), 1)), 1)


def _of_pattern(pattern: exp.Expr, replacement: exp.Expr) -> int:
    """The same by `regexp_replace`: a pattern that matches nothing puts its replacement between all letters."""
    old, new = text_of(pattern), text_of(replacement)
    if old is None or new is None:
        return 2
    try:
        is_empty = may_be_empty(read(old))
    except Unclear:
        is_empty = True
    references = _REFERENCE.findall(new)
    return max(len(_REFERENCE.sub("", new)) + len(references) + is_empty, 1)

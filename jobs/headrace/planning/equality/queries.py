"""Two texts of a micro-batch query, compared by their rows.

Both are compared as chains of joins and conditions. Below a step for which the order of rows counts, the joins and
tables must stand in the same order as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from headrace.planning.equality import chains, row_order
from headrace.planning.forms.lowering import Numbers, as_written
from headrace.planning.forms.steps import Form, Step
from headrace.planning.forms.terms import EDITED
from headrace.planning.forms.types import TypeOf, of_atoms, type_of

_MOST_ALIKE = 24
"""How many steps are numbered again, of all that there are several of."""

_NUMBER = re.compile(r"#\d+|(?<=[a-z])\d+(?=\.)")
_NAME = re.compile(rf"[\w'{re.escape(EDITED)}]+")


@dataclass(frozen=True)
class Side:
    """One of two texts that are compared.

    `lowered` is its form with the branches of its unions in one order, if so asked, and with other numbers; `is_free`
    is whether these branches may change places. `column` is the type of a column of a table; of rows of one key in a
    batch, the model may keep one only.
    """

    form: Form
    lowered: Callable[[bool, Numbers], Form]
    is_free: Callable[[Form], bool]
    column: TypeOf = lambda _: None
    keeps_one: bool = False

    @property
    def types(self) -> chains.Types:
        """The type of an expression of this text, if it is certain."""
        return partial(type_of, column=of_atoms(self.column))


def same(old: Side, new: Side) -> bool:
    """Whether two texts give the same rows, the same number of times.

    Steps of one kind, and scans of one table, are distinguished by numbers, which follow the text. Where that is not
    enough, they are numbered by what each of them does in the query. That takes the time of many forms, so it is not
    asked of texts that do not even consist of the same words.
    """
    if _words(old.form, old.types) == _words(new.form, new.types):
        return _ordered(old.form, old) == _ordered(new.form, new)
    if _letters(old.form) != _letters(new.form):
        return False
    sorts = all(each.is_free(each.form) for each in (old, new))
    return _numbered(old, sorts) == _numbered(new, sorts)


def _numbered(side: Side, sorts: bool) -> tuple[object, ...]:
    """The words of a text whose steps are numbered by what they do."""
    text, types = partial(side.lowered, sorts), side.types

    def words(numbers: Numbers) -> tuple[object, ...]:
        return _words(text(numbers), types)

    form = text(_numbers(text, words))
    return _words(form, types), _ordered(form, side)


def _ordered(form: Form, side: Side) -> list[tuple[str, ...]]:
    """Each step for which the order of rows counts, with all that this depends on."""
    steps = row_order.deciding(form, side.keeps_one, side.types)
    return sorted((chains.text(step, side.types), *_scanned(step)) for step in steps)


def _scanned(of: Step) -> list[str]:
    """What the order of rows depends on: that of tables, windows, joins and their kinds, and of the keys of groups."""
    steps = [*of.every()]
    keys = (each.key for step in steps if step.kind == "aggregate" for each in step.parts["keys"])
    kinds = (_kind(step) for step in steps if step.kind in ("join", "window"))
    return [*(step.name for step in steps if step.kind == "scan"), *keys, *kinds]


def _kind(step: Step) -> str:
    return step.parts["kind"][0].key.replace("cross", "inner") if step.kind == "join" else step.kind


def _letters(form: Form) -> Counter[str]:
    """The names and values in a form without numbers of steps, as often as they are there; not those of long words."""
    parts = (found for step in form.root.every() for part, found in step.parts.items() if part != "kind")
    filters = (step.filters for step in form.root.every())
    keys = (each.key for found in (form.columns.values(), *parts, *filters) for each in found if "…" not in each.key)
    return Counter(word for key in keys for word in _NAME.findall(_NUMBER.sub("", key)))


def _words(form: Form, types: chains.Types) -> tuple[object, ...]:
    columns = ((name, term.key) for name, term in form.columns.items())
    return (*columns, chains.text(form.root, types))


def _numbers(text: Callable[[Numbers], Form], words: Callable[[Numbers], tuple[object, ...]]) -> Numbers:
    """Numbers for steps by the words of the query in which one of them stands out; as written, if they are too many."""
    counts = Counter[str]()

    def counted(kind: str, place: int) -> int:
        counts[kind] += 1
        return place

    text(counted)
    found = [(kind, place) for kind, count in counts.items() if count > 1 for place in range(1, count + 1)]
    if len(found) > _MOST_ALIKE:
        return as_written
    order = sorted(found, key=lambda each: (each[0], words(_marked(*each))))
    first = {kind: at for at, (kind, _) in reversed([*enumerate(order)])}
    return lambda kind, place: order.index((kind, place)) - first[kind] + 1 if kind in first else place


def _marked(kind: str, at: int) -> Numbers:
    return lambda each, place: 2 if (each, place) == (kind, at) else 1

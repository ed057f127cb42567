"""What the differences of two forms mean for the rows that a model has stored, and for those who read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from headrace.errors import Place
from headrace.planning import differences, settings
from headrace.planning.differences import Sides
from headrace.planning.forms.arrivals import ARRIVAL
from headrace.planning.verdict import Reason, Verdict
from headrace.project.model import Model


@dataclass(frozen=True)
class Kept:
    """A model with what earlier rows mean for new ones: whether they are read back, and which columns of them."""

    model: Model
    state: frozenset[str]
    reads_back: bool

    @property
    def depends_on_past(self) -> bool:
        """Whether another row is written, or none, because of an earlier one."""
        keeps_one = bool(self.model.once_per) or settings.sets_repeats_aside(self.model)
        return self.reads_back or keeps_one or self.model.materialized == "upsert"


def row_reasons(kept: Kept, sides: Sides, columns: Mapping[str, Reason], shape: Sequence[Reason]) -> Iterator[Reason]:
    """What other rows, and other columns, mean for those that are stored."""
    forward = Verdict.FORWARD if kept.depends_on_past else Verdict.KEEP
    is_of_state = differences.is_folded(sides, kept.model.table, kept.state)
    is_of_state = is_of_state and differences.is_filter_of(sides, kept.model.table)
    for reason in differences.edited_filters(sides):
        yield replace(reason, verdict=Verdict.MIX if is_of_state else forward)
    for reason in shape:
        yield replace(reason, verdict=Verdict.MIX if kept.reads_back else forward)
    for name, reason in columns.items():
        found = _column_reason(kept, name, reason)
        if found.verdict < forward and kept.model.on_error == "dead_letter" and differences.may_fail(sides, [name]):
            message = f"column {name} is computed differently: rows that failed and were set aside stay out"
            found = replace(found, verdict=forward, message=message)
        yield found


def rule_reasons(kept: Kept, old: Model, columns: Mapping[str, Reason]) -> Iterator[Reason]:
    """What other columns mean by which the header closes and deletes keys, sets rows aside, or chooses the topic."""
    deleting = Verdict.MIX if kept.reads_back else Verdict.FORWARD
    rules = {"close_when": Verdict.MIX, "delete_when": deleting, "tests": Verdict.FORWARD, "publish": Verdict.FORWARD}
    for rule, verdict in rules.items():
        for name in sorted(settings.rule_columns(old, kept.model, rule) & columns.keys()):
            message = f"column {name}, by which `{rule}` decides, is computed differently: what it decided stays"
            yield replace(columns[name], verdict=verdict, message=message, columns=())


def has_other_rows(old: Model, new: Model, sides: Sides, columns: Mapping[str, Reason]) -> bool:
    """Whether conditions, or columns that decide like one, let other rows come to those who read them."""
    if any(differences.edited_filters(sides)) or not settings.deciding_columns(old, new).isdisjoint(columns):
        return True
    return "dead_letter" in (old.on_error, new.on_error) and differences.may_fail(sides, columns)


def worst_of_each(reasons: Iterable[Reason]) -> Iterator[Reason]:
    """Each difference once, with the worst that it does."""
    found: dict[tuple[Place, str], Reason] = {}
    for each in reasons:
        known = found.get((each.place, each.message))
        if known is None or known.verdict < each.verdict:
            found[each.place, each.message] = each
    yield from found.values()


def _column_reason(kept: Kept, name: str, reason: Reason) -> Reason:
    """An append table keeps old rows as they are; the current rows of an upsert are then of both kinds."""
    model = kept.model
    is_order = kept.reads_back and model.materialized == "upsert" and name == ARRIVAL
    if name in kept.state or is_order or name in {each.lower() for each in (*model.once_per, *model.unique_key)}:
        what = "which it reads back" if name in kept.state else "which its keys are made of"
        what = "by which it reads the newest rows back" if is_order else what
        message = f"column {name}, {what}, would mix old and new meanings"
        return replace(reason, verdict=Verdict.MIX, message=message)
    return replace(reason, verdict=Verdict.FORWARD if model.materialized == "upsert" else Verdict.KEEP)

"""Rules about times that files set by parameters: each has a value, and that is a number of seconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.errors import Finding, Place, did_you_mean
from headrace.project.flows.draft import Draft

IDLE_TICK = "idle_tick"
"""The variable that holds after how many seconds without input a tick advances time."""


@dataclass(frozen=True)
class _Duration:
    """Where a time is the name of a parameter, and what null means there, if anything."""

    parameter: str
    place: Place
    key: str
    null: str | None = None


def durations(draft: Draft) -> Iterator[Finding]:
    """Each time that is a parameter's name has a number of seconds above zero as its value."""
    if draft.vars is None:
        return
    for duration in _durations(draft):
        if duration.parameter not in draft.vars:
            advice = did_you_mean(duration.parameter, draft.vars) or " Add it to vars in manifest.yml or conf/."
            yield Finding(
                duration.place, "missing-parameter", f"{duration.key}: no value for :{duration.parameter}.{advice}"
            )
        elif not _is_duration(value := draft.vars[duration.parameter]) and not (duration.null and value is None):
            wanted = f"a number of seconds{f', or null for {duration.null}' if duration.null else ''}"
            yield Finding(duration.place, "bad-value", f":{duration.parameter} is {value!r}; give {wanted}")


def _durations(draft: Draft) -> Iterator[_Duration]:
    if draft.vars and IDLE_TICK in draft.vars:
        yield _Duration(IDLE_TICK, draft.var_places[IDLE_TICK], "vars")
    for landing in draft.landings:
        for topic in landing.topics:
            if isinstance(topic.idle_after, str):
                yield _Duration(topic.idle_after, topic.places["idle_after"], "idle_after")
    for model in draft.models.values():
        if isinstance(model.remember, str):
            yield _Duration(model.remember, draft.place(model, "remember"), "remember")
        if isinstance(model.every, str):
            yield _Duration(model.every, draft.place(model, "every"), "every", "no snapshots")


def _is_duration(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0

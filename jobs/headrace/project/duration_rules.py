"""Rules about times that files give as parameters: each has a value, and that is a number of seconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.errors import Finding, Place, did_you_mean
from headrace.project.draft import Draft

IDLE_TICK = "idle_tick"
"""The variable that says after how many seconds without input time is made to pass."""


@dataclass(frozen=True)
class _Given:
    """Where a time is given as the name of a parameter, and what null means there, if anything."""

    parameter: str
    place: Place
    key: str
    null: str | None = None


def durations(draft: Draft) -> Iterator[Finding]:
    """Each time that is a parameter's name finds a number of seconds above zero there."""
    if draft.vars is None:
        return
    for given in _given(draft):
        if given.parameter not in draft.vars:
            advice = did_you_mean(given.parameter, draft.vars) or " Add it to vars in manifest.yml or conf/."
            yield Finding(given.place, "missing-parameter", f"{given.key}: no value for :{given.parameter}.{advice}")
        elif not _is_duration(value := draft.vars[given.parameter]) and not (given.null and value is None):
            wanted = f"a number of seconds{f', or null for {given.null}' if given.null else ''}"
            yield Finding(given.place, "bad-value", f":{given.parameter} is {value!r}; give {wanted}")


def _given(draft: Draft) -> Iterator[_Given]:
    if draft.vars and IDLE_TICK in draft.vars:
        yield _Given(IDLE_TICK, draft.var_places[IDLE_TICK], "vars")
    for landing in draft.landings:
        for topic in landing.topics:
            if isinstance(topic.idle_after, str):
                yield _Given(topic.idle_after, topic.places["idle_after"], "idle_after")
    for model in draft.models.values():
        if isinstance(model.remember, str):
            yield _Given(model.remember, draft.place(model, "remember"), "remember")
        if isinstance(model.every, str):
            yield _Given(model.every, draft.place(model, "every"), "every", "no snapshots")


def _is_duration(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0

"""The order of things that need each other, and the cycles that forbid one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter


def order(needs: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """Order names so that each comes after those it needs, alphabetically where there is a choice; no cycle allowed."""
    sorter = TopologicalSorter(needs)
    sorter.prepare()
    ordered: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        ordered.extend(ready)
        sorter.done(*ready)
    return tuple(ordered)


def cycles(needs: Mapping[str, Collection[str]]) -> list[tuple[str, ...]]:
    """Return cycles that share no edge, each as the names that need one another, the smallest name first."""
    left = {name: sorted(needs[name]) for name in sorted(needs)}
    found: list[tuple[str, ...]] = []
    while cycle := _cycle(left):
        found.append(cycle)
        for name, needed in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            left[name].remove(needed)
    return found


def added(needs: Mapping[str, Collection[str]], more: Mapping[str, Collection[str]]) -> dict[str, tuple[str, ...]]:
    """Return which edges of `more` can be added without a cycle, by name; the first by the alphabet have priority."""
    known, found = {name: {*each} for name, each in needs.items()}, dict.fromkeys(more, tuple[str, ...]())
    for name in sorted(more):
        for other in sorted(more[name]):
            if not cycles({**known, name: {*known.get(name, ()), other}}):
                known.setdefault(name, set()).add(other)
                found[name] += (other,)
    return found


def _cycle(needs: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    try:
        TopologicalSorter(needs).prepare()
        return ()
    except CycleError as error:
        names: list[str] = error.args[1][:0:-1]
        start = names.index(min(names))
        return (*names[start:], *names[:start])

"""The command that shows how an edit affects the running queries, and how a run handles that."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from typing import Any

from rich.console import Console

from headrace.commands.workspace import Workspace
from headrace.errors import ExitCode, InvalidProject, UsageError
from headrace.planning import cost, known, plan
from headrace.planning.declared import Schemas
from headrace.planning.plan import Entry, Plan
from headrace.planning.verdict import Reason, Verdict
from headrace.project import graph, selection
from headrace.project import report as findings_report
from headrace.project.model import Project
from headrace.reading import printing
from headrace.store.layout import Layout

Mixes = Mapping[str, Sequence[Mapping[str, str]]]


def show(workspace: Workspace, select: tuple[str, ...], explain: bool, as_json: bool) -> int:
    """Print one verdict per model and source; the exit code shows whether a run would be refused."""
    project, layout = workspace.declared, workspace.layout
    found = plan.make(project, layout, known.types(project), partial(_is_behind, project, layout))
    if select:
        chosen = selection.listed(project, select)
        found = Plan(tuple(entry for entry in found.entries if entry.name in chosen))
        if not found.entries:
            raise UsageError("views alone are selected, which have no verdict of their own; select what reads them")
    costs = {entry.name: str(_cost(project, layout, entry)) for entry in found.entries if _is_refused(entry)}
    if as_json:
        printing.write_lines(json.dumps(_json(entry, costs)) for entry in found.entries)
    else:
        _print(found, costs, explain)
    refused = found.refusals()
    if refused and not as_json:
        print(findings_report.render(refused, project.root), file=sys.stderr)
    return ExitCode.INVALID if refused else ExitCode.OK


def accepted(project: Project, layout: Layout, why: str | None, rebuild: bool, types: Schemas | None = None) -> Mixes:
    """Refuse edits that a start would corrupt, unless allowed; return the mixes that the user accepts, by query.

    `types` are Spark's. Without them, what only Spark knows is not refused.
    """
    if why is not None and not why.strip():
        raise UsageError('--accept-mix takes the reason, such as --accept-mix "totals start again in May"')
    found = _of_run(project, layout, types)
    words = {"mix": why is not None, "rebuild": rebuild, "spark": types is None}
    if refused := found.refusals(*(word for word, is_allowed in words.items() if is_allowed)):
        raise InvalidProject(refused)
    if why is None:
        return {}
    at = datetime.now(timezone.utc).isoformat(timespec="seconds")
    mixes: dict[str, list[Mapping[str, str]]] = {}
    for entry in found.entries:
        if entry.verdict == Verdict.MIX.name and entry.first is not None:
            mix = {"at": at, "model": entry.name, "where": str(entry.first.place), "what": entry.first.message}
            mixes.setdefault(entry.query, []).append({**mix, "why": why})
    return mixes


def is_undecided(project: Project, layout: Layout) -> bool:
    """Whether something in the plan of a run is left to Spark."""
    reasons = (reason for entry in _of_run(project, layout).entries for reason in entry.reasons)
    return any(reason.verdict is Verdict.UNDECIDED for reason in reasons)


def rebuild(project: Project, layout: Layout, with_mixes: bool, types: Schemas | None = None) -> tuple[str, ...]:
    """Reset the queries that cannot continue, and those that stream from them; the runner's lock must be held.

    Nothing is reset if rows of one of them are still to be sent.
    """
    from headrace.commands.edits import resetting  # and with it pyspark, which a plan does not need

    found = _of_run(project, layout, types)
    wanted = set(found.queries(Verdict.RESET))
    wanted |= set(found.queries(Verdict.MIX)) if with_mixes else set()
    names = graph.with_readers(project.queries, project.models, wanted & {query.name for query in project.queries})
    queries = [query for query in project.queries if query.name in names]
    for query in queries:
        resetting.refuse_unsent(project, layout, query)
    for query in queries:
        resetting.forget(project, layout, query)
    return names


def _of_run(project: Project, layout: Layout, types: Schemas | None = None) -> Plan:
    """The plan of what is about to run."""
    unread = partial(_is_behind, project, layout)
    found = plan.make(project, layout, known.types(project) if types is None else types, unread)
    queries = {query.name for query in project.queries}
    ran = project.landings_to_run
    queries |= {each.query for each in project.landings if ran is None or each.name in ran}
    return Plan(tuple(entry for entry in found.entries if entry.query in queries))


def _is_behind(project: Project, layout: Layout, model: str, table: str) -> bool:
    """Whether a model has yet to read rows of a table."""
    from headrace.running import log_readers  # slow to import, and only a plan with edits above others needs it

    return log_readers.is_behind(project, layout, model, table)


def _is_refused(entry: Entry) -> bool:
    return entry.verdict in (Verdict.MIX.name, Verdict.RESET.name)


def _cost(project: Project, layout: Layout, entry: Entry) -> cost.Cost | None:
    query = next((query for query in project.queries if query.name == entry.query), None)
    return cost.of(project, layout, query) if query is not None else None


def _print(found: Plan, costs: Mapping[str, str], explain: bool) -> None:
    rows = [_row(entry) for entry in found.entries]
    printing.print_lines(rows, Console(), left_out_first=("query",))
    for entry in found.entries:
        if entry.name in costs or explain:
            printing.write_lines(_details(entry, costs, explain))


def _row(entry: Entry) -> dict[str, str]:
    reason = entry.first
    because = f"{reason.place}: {reason.message}" if reason else entry.note
    return {"verdict": entry.verdict, "model": entry.name, "query": entry.query, "because": because}


def _details(entry: Entry, costs: Mapping[str, str], explain: bool) -> Iterator[str]:
    reasons = [*dict.fromkeys(sorted(entry.reasons, key=lambda reason: (-reason.verdict, reason.place)))]
    if not reasons or (entry.verdict == Verdict.SAME.name):
        return
    yield ""
    yield f"{entry.name}: {entry.verdict}"
    for reason in reasons:
        yield f"  {reason.verdict.name} {reason.place}: {reason.message}"
        if explain and (reason.old or reason.new):
            yield from (f"    - {reason.old or '(nothing)'}", f"    + {reason.new or '(nothing)'}")
    if entry.name in costs:
        yield f"  rebuild: {costs[entry.name]}"
    if entry.downstream:
        yield f"  made of it: {', '.join(entry.downstream)}"
    if entry.topics:
        yield f"  published on: {', '.join(entry.topics)}"
    if explain and entry.outcome and entry.outcome.old and entry.outcome.new:
        old, new = entry.outcome.old.lines(), entry.outcome.new.lines()
        lines = difflib.unified_diff(old, new, "live", "edited", lineterm="")
        yield from (f"    {line}" for line in lines)


def _json(entry: Entry, costs: Mapping[str, str]) -> dict[str, Any]:
    return {
        "name": entry.name,
        "verdict": entry.verdict,
        "query": entry.query,
        "path": entry.path,
        "reasons": [_reason(reason) for reason in entry.reasons],
        "note": entry.note,
        "rebuild": costs.get(entry.name),
        "downstream": list(entry.downstream),
        "topics": list(entry.topics),
    }


def _reason(reason: Reason) -> dict[str, Any]:
    place = reason.place
    return {
        "verdict": reason.verdict.name,
        "path": place.path,
        "line": place.line,
        "column": place.column,
        "message": reason.message,
        "old": reason.old,
        "new": reason.new,
    }

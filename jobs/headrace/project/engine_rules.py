"""Rules about how models run together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from headrace.errors import Finding, Place
from headrace.project import expressions, graph
from headrace.project.calls import Call
from headrace.project.draft import Draft
from headrace.project.model import Engine, Model
from headrace.project.modelfile import ModelFile

UNSTABLE = frozenset(
    {"any_value", "curdate", "current_date", "current_time", "current_timestamp", "localtimestamp", "now"}
    | {"monotonically_increasing_id", "rand", "randn", "random", "randstr", "shuffle", "uniform", "uuid"}
)
"""Functions that may answer differently when a batch is computed again."""

UNSTABLE_WITHOUT_ORDER = frozenset(
    {"first", "first_value", "last", "last_value", "nth_value", "lag", "lead"}
    | {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"}
)
"""Functions that do so unless they stand over a window with an order."""


def cycles(draft: Draft) -> Iterator[Finding]:
    """No model waits for itself."""
    yield from graph.cycle_findings(draft.models.values())


def micro_batch_limits(draft: Draft) -> Iterator[Finding]:
    """A model that runs per micro-batch uses nothing that only Spark's streaming engine has."""
    watermarked = {file.model.path for file in draft.files if file.text.has_watermark}
    for model in _stored(draft, "micro_batch"):
        parts = (model, *graph.views(model, draft.models))
        paths = [part.path for part in parts if part.path in watermarked]
        if paths:
            message = f"the WATERMARK in {paths[0]} needs Spark's streaming engine; take `run: micro_batch` out"
            yield Finding(draft.place(model, "run"), "wrong-engine", message)
        if "output_mode" in model.header_places:
            message = "only a model in Spark's streaming engine has an output mode; take it out"
            yield Finding(draft.place(model, "output_mode"), "wrong-engine", message)


def streaming_limits(draft: Draft) -> Iterator[Finding]:
    """A model in Spark's streaming engine appends rows and is a query of its own."""
    for model in _stored(draft, "streaming"):
        own = [ref for ref in model.inputs if ref.table == model.table]
        if own and model.remember is None:
            message = "say for how many seconds of event time the model finds its own rows: `remember: :call_gap`"
            yield Finding(own[0].place, "missing-key", message)
        if model.close_when:
            message = "a model in Spark's streaming engine closes no keys; say `delete_when`"
            yield Finding(draft.place(model, "close_when"), "wrong-engine", message)
        if "query" in model.header_places:
            message = "a model in Spark's streaming engine is a query of its own; take `query:` out"
            yield Finding(draft.place(model, "query"), "wrong-engine", message)
        for read in graph.reads(model, draft.models):
            if read.table in draft.topics and draft.topics[read.table][1].is_clock:
                message = f"{read.table} is for models that run per micro-batch; here the watermark is the clock"
                yield Finding(read.place, "wrong-engine", message)


def snapshot_limits(draft: Draft) -> Iterator[Finding]:
    """A snapshot says how often it is taken, and reads tables as they stand."""
    for model in _stored(draft, "snapshot"):
        if model.every is None:
            message = "say how often the rows are taken: `every: 5`, in seconds, or `every: :snapshot_every`"
            yield Finding(Place(model.path), "missing-key", message)
        for ref in model.inputs:
            if ref.stream:
                message = "a snapshot takes whole tables as they stand; drop the word `stream`"
                yield Finding(ref.place, "wrong-engine", message)


def two_landings(draft: Draft) -> Iterator[Finding]:
    """The streams of a micro-batch query land together, else its batches would have no order."""
    first: dict[str, str] = {}
    for model in draft.models.values():
        for read in graph.reads(model, draft.models) if model.query and model.run == "micro_batch" else ():
            if read.stream and read.table in draft.topics:
                landing = draft.topics[read.table][0].name
                other = first.setdefault(model.query or "", landing)
                if other != landing:
                    message = f"query {model.query} streams landing {other} too; let the topics land in one file"
                    yield Finding(read.place, "two-landings", message)


def two_queries(draft: Draft) -> Iterator[Finding]:
    """A query's name means one query: of one engine, and shared by models only where they say so."""
    landings = {landing.query: f"landing {landing.name}" for landing in draft.landings}
    groups: dict[str, list[Model]] = {}
    for model in draft.models.values():
        if model.query is not None:
            groups.setdefault(model.query, []).append(model)
    for query, (first, *others) in groups.items():
        clash = [other for other in others if other.run != first.run or other.name == first.name == query]
        if query in landings or clash:
            model, name = (first, landings[query]) if query in landings else (clash[0], first.table)
            message = f"query {query} is also that of {name}; rename the model or give it a `query:`"
            yield Finding(draft.place(model, "query"), "two-queries", message)


def unstable_calls(draft: Draft) -> Iterator[Finding]:
    """A micro-batch gives the same rows when it runs again."""
    replayed = _replayed(draft)
    for file in draft.files:
        yield from _unstable(_calls(draft, file)) if file.model.path in replayed else ()
    for macro in draft.macros:
        yield from _unstable(macro.calls)


def _stored(draft: Draft, run: Engine) -> list[Model]:
    return [model for model in draft.models.values() if model.materialized != "view" and model.run == run]


def _replayed(draft: Draft) -> set[str]:
    """Return the files whose text may run again: all but streaming models and the views only they read."""
    readers = {view.path: set[str]() for view in draft.models.values() if view.materialized == "view"}
    stored = [model for model in draft.models.values() if model.materialized != "view"]
    for model in stored:
        for view in graph.views(model, draft.models):
            readers[view.path].add(model.run)
    views = {path for path, runs in readers.items() if runs != {"streaming"}}
    return views | {model.path for model in stored if model.run != "streaming"}


def _calls(draft: Draft, file: ModelFile) -> Iterator[Call]:
    """The calls in a model's query and in the expressions of its header."""
    yield from file.text.calls
    for key, text in file.model.expressions:
        yield from (replace(call, place=draft.place(file.model, key)) for call in expressions.calls_of(text))


def _unstable(calls: Iterable[Call]) -> Iterator[Finding]:
    for call in calls:
        if call.name in UNSTABLE or (call.name == "unix_timestamp" and not call.has_arguments):
            message = f"`{call.name}` may differ when a batch runs again; use a column or a parameter"
            yield Finding(call.place, "non-deterministic", message)
        elif call.name in UNSTABLE_WITHOUT_ORDER and not call.has_order:
            message = f"`{call.name}` depends on the order of rows; put it over a window with `order by`"
            yield Finding(call.place, "non-deterministic", message)

"""Rules about how models run together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from sqlglot import TokenType, exp

from headrace.errors import Finding, Place
from headrace.project import graph
from headrace.project.declarations.modelfile import ModelFile
from headrace.project.flows.draft import Draft
from headrace.project.flows.flow import Flow
from headrace.project.model import Engine, Input, Model
from headrace.project.rules.writing_rules import NEEDLESS_KEYS
from headrace.project.sql import expressions
from headrace.project.sql.calls import Call

STREAMING_NEEDS_NO = {
    "close_when": "a model in Spark's streaming engine closes no keys; say `delete_when`",
    "once_per": "a model in Spark's streaming engine keeps no keys permanently; remove it, or run it per micro-batch",
    "log": "a model in Spark's streaming engine logs no rows; take it out",
    "query": "a model in Spark's streaming engine is a query of its own; take `query:` out",
    "on_error": "a model in Spark's streaming engine sets no rows aside; say `try_divide`, `try_cast` and their like",
    "max_state_bytes": "Spark's streaming engine holds the state of this model, row by row; take it out",
}
"""Header keys without effect in the streaming engine, and what to do."""

UNSTABLE = frozenset(
    {"any_value", "curdate", "current_date", "current_time", "current_timestamp", "localtimestamp", "now"}
    | {"monotonically_increasing_id", "rand", "randn", "random", "randstr", "shuffle", "uniform", "uuid"}
)
"""Functions that may return other values when a batch is computed again."""

UNSTABLE_WITHOUT_ORDER = frozenset(
    {"first", "first_value", "last", "last_value", "nth_value", "lag", "lead"}
    | {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"}
)
"""Functions that do so unless they are over a window with an order."""


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
        if model.remember is not None:
            message = "only a model in Spark's streaming engine forgets its own rows; take `remember` out"
            yield Finding(draft.place(model, "remember"), "wrong-engine", message)


def streaming_limits(draft: Draft) -> Iterator[Finding]:
    """A model in Spark's streaming engine appends rows and is a query of its own."""
    for model in _stored(draft, "streaming"):
        for key, message in STREAMING_NEEDS_NO.items():
            if key in model.header_places and key not in NEEDLESS_KEYS[model.materialized]:
                yield Finding(draft.place(model, key), "wrong-engine", message)
        own = [ref for ref in model.inputs if ref.table == model.table]
        if own and model.remember is None:
            message = "say for how many seconds of event time the model finds its own rows: `remember: :call_gap`"
            yield Finding(own[0].place, "missing-key", message)
        reads = graph.reads(model, draft.models)
        if model.remember is not None and not any(read.table == model.table for read in reads):
            message = "the model does not read its own table, so it has nothing to remember; take it out"
            code = f"{model.materialized}-needs-no-remember"
            yield Finding(draft.place(model, "remember"), code, message)
        for read in reads:
            if read.table in draft.topics and draft.topics[read.table][1].is_clock:
                message = f"{read.table} is for models that run per micro-batch; here the watermark is the clock"
                yield Finding(read.place, "wrong-engine", message)


def snapshot_limits(draft: Draft) -> Iterator[Finding]:
    """A snapshot declares how often it is taken, and reads whole tables."""
    for model in _stored(draft, "snapshot"):
        if model.every is None:
            message = "say how often the rows are taken: `every: 5`, in seconds, or `every: :snapshot_every`"
            yield Finding(Place(model.path), "missing-key", message)
        for ref in model.inputs:
            if ref.stream:
                message = "a snapshot reads whole tables as they are now; remove the word `stream`"
                yield Finding(ref.place, "wrong-engine", message)


def two_landings(draft: Draft) -> Iterator[Finding]:
    """The streams of a micro-batch query land together, else its batches would have no order."""
    queries: dict[str, list[Model]] = {}
    for model in _stored(draft, "micro_batch"):
        queries.setdefault(model.query or "", []).append(model)
    for query, models in queries.items():
        streamed = [(input_, landing) for model in models for input_, landing in _landings(draft, model)]
        most = _most_streamed(draft, models)
        for input_, landing in streamed:
            if landing != most:
                message = f"query {query} streams landing {most} too; let the topics land in one file"
                yield Finding(input_.place, "two-landings", message)


def _most_streamed(draft: Draft, models: Iterable[Model]) -> str | None:
    """The landing that most of some models stream, the first if there are several: the others are misplaced."""
    streamed = [dict.fromkeys(landing for _, landing in _landings(draft, model)) for model in models]
    counts = Counter(landing for landings in streamed for landing in landings)
    return max(counts, key=counts.__getitem__, default=None)


def _landings(draft: Draft, model: Model) -> Iterator[tuple[Input, str]]:
    """The landings that a model streams, itself or through views, each with the table it names for that."""
    for input_ in model.inputs:
        for read in graph.reads(replace(model, inputs=(input_,)), draft.models):
            if read.stream and read.table in draft.topics:
                yield input_, draft.topics[read.table][0].name


def two_queries(draft: Draft) -> Iterator[Finding]:
    """A query's name means one query: of one engine, and shared by models only where they declare it."""
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


def unstable_landings(draft: Draft) -> Iterator[Finding]:
    """A record gets the same verdict and event time whenever it lands, or is looked at again."""
    for place, text in draft.landed_expressions():
        yield from _unstable(_placed(text, place), "is another one when the record is looked at again; use `landed_at`")


def unstable_picks(draft: Draft) -> Iterator[Finding]:
    """A micro-batch takes the same rows when it runs again, and rows have no order of their own."""
    replayed = _replayed(draft)
    for file in draft.files:
        yield from (*samples(file), *_cuts(draft.flows[file.model.table])) if file.model.path in replayed else ()


def samples(file: ModelFile) -> Iterator[Finding]:
    """Find what takes rows at random; REPEATABLE does not help, as the order of rows may change."""
    statement = file.text.statement
    for token in statement.tokens if any(statement.find_all(exp.TableSample)) else ():
        if token.token_type == TokenType.TABLE_SAMPLE:
            message = "`tablesample` may take other rows when a batch runs again; choose by a column, such as a hash"
            yield Finding(statement.place(token.start), "non-deterministic", message)


def _cuts(flow: Flow) -> Iterator[Finding]:
    for query in flow.file.text.statement.find_all(exp.Query):
        for word in ("limit", "offset"):
            cut, is_ordered = query.args.get(word), query.args.get("order") or query.unnest().args.get("order")
            if cut and not is_ordered and cut.expression.name.lower() != "all":
                message = f"`{word}` without `order by` may take other rows when a batch runs again; say in which order"
                yield Finding(flow.place(cut), "non-deterministic", message)


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
        yield from _placed(text, draft.place(file.model, key))


def _placed(text: str, place: Place) -> Iterator[Call]:
    """The calls in an expression, at the place of the whole."""
    return (replace(call, place=place) for call in expressions.calls_of(text))


def _unstable(
    calls: Iterable[Call], why: str = "may differ when a batch runs again; use a column or a parameter"
) -> Iterator[Finding]:
    for call in calls:
        if call.name in UNSTABLE or (call.name == "unix_timestamp" and not call.has_arguments):
            yield Finding(call.place, "non-deterministic", f"`{call.name}` {why}")
        elif call.name in UNSTABLE_WITHOUT_ORDER and not call.has_order:
            message = f"`{call.name}` depends on the order of rows; put it over a window with `order by`"
            yield Finding(call.place, "non-deterministic", message)

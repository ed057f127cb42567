"""Spark's own analysis of every model before anything starts: types, names, and whether it can run as declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    DateType,
    DecimalType,
    NullType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from headrace.checking import column_types, compared_types, parsed
from headrace.errors import Finding, InvalidProject, Place
from headrace.landing.relations import bronze
from headrace.project.declarations import event_times
from headrace.project.declarations.event_times import SqlTime
from headrace.project.files import place_at
from headrace.project.flows import versions
from headrace.project.model import Input, Model, Project, Topic
from headrace.project.sql import result_columns
from headrace.project.statement import bind, view_names
from headrace.spark.binding import Binder, at_moment, view_of
from headrace.spark.columns import columns_of, landing_schema, no_rows, type_of
from headrace.spark.session import child
from headrace.spark.spark_errors import SPARK_ERRORS, offset, one_line
from headrace.spark.streaming.streamability import as_stream, left_out, refuse_unstreamable
from headrace.streaming.remedies import remedy

_ROUNDS = 5
"""The types of a model that reads its own table are stable after two; more rounds mean that they never will be."""

_LEFT_OUT = (
    "no row depends on this stream: Spark leaves it out, but would wait for its watermark forever; remove it, or "
    "use one of its columns"
)

_ANY_MOMENT = datetime(2000, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Analysis:
    """Output columns of every model, and what is wrong."""

    schemas: Mapping[str, StructType]
    findings: tuple[Finding, ...]


def analyse(spark: SparkSession, project: Project) -> Analysis:
    """Let Spark analyse every model over empty tables of the declared schemas."""
    session = child(spark, "check")
    findings = [*parsed.findings(session, project), *_declare_macros(session, project)]
    findings += [*_rejects(session, project), *_event_times(session, project)]
    schemas: dict[str, StructType] = {}
    empty = _Empty(session, project, schemas)
    seen = set[str]()
    for model in _in_order(project):
        needed = {ref.table for ref in model.inputs if ref.stream or ref.table in seen}
        seen.add(model.table)
        if any(not table.startswith("bronze.") for table in needed - schemas.keys()):
            continue  # the model it reads has its own finding
        try:
            schemas[model.table] = _settled(session, project, model, empty)
            if model.run == "streaming":
                findings += _streaming(session, project, model, empty)
            findings += _contract(model, schemas[model.table])
            findings += column_types.findings(model, schemas[model.table]) if model.materialized != "view" else ()
            findings += _expressions(session, model, schemas[model.table])
        except SPARK_ERRORS as error:
            findings.append(_finding(project, model, error))
        except InvalidProject as error:
            findings += error.findings
    for model in project.models:
        findings += compared_types.findings(session, model, schemas) if model.table in schemas else ()
    return Analysis(schemas, tuple(findings))


def _declare_macros(session: SparkSession, project: Project) -> Iterator[Finding]:
    for macro in project.macros:
        try:
            session.sql(macro.text)
        except SPARK_ERRORS as error:
            yield Finding(place_at(macro.path, macro.text, offset(error, macro.text)), "spark", one_line(error))


def _rejects(session: SparkSession, project: Project) -> Iterator[Finding]:
    """Spark's errors in the rules that reject records: they see fields, and the landing columns of other names."""
    for topic in (topic for landing in project.landings for topic in landing.topics if topic.reject):
        known = _record(session, topic)
        for reason, text in topic.reject:
            try:
                known.where(text)
            except SPARK_ERRORS as error:
                place = topic.places.get(f"reject.{reason}", topic.place)
                yield Finding(place, "spark", f"reject {reason}: {one_line(error)}")


def _event_times(session: SparkSession, project: Project) -> Iterator[Finding]:
    """Spark's errors in event times that are SQL: each must be a time."""
    for topic in (topic for landing in project.landings for topic in landing.topics):
        if not isinstance(found := event_times.of(topic), SqlTime):
            continue
        place = topic.places.get("event_time", topic.place)
        try:
            kind = _record(session, topic).select(F.expr(found.text)).schema[0].dataType
        except SPARK_ERRORS as error:
            yield Finding(place, "spark", f"event_time: {one_line(error)}")
            continue
        if not isinstance(kind, (TimestampType, TimestampNTZType, DateType)):
            how = "make a timestamp of it, such as `timestamp_seconds(...)` or `to_timestamp(...)`"
            yield Finding(place, "bad-value", f"event_time is {kind.simpleString()}; {how}")


def _record(session: SparkSession, topic: Topic) -> DataFrame:
    """What an expression of a source sees: fields, and the landing columns of other names."""
    rows = bronze(no_rows(session, landing_schema()), topic)
    fields = [field.name for field in topic.fields]
    others = [name for name in rows.columns if name.lower() not in map(str.lower, fields)]
    return rows.select(*others, *[f"data.`{name}`" for name in fields])


def _in_order(project: Project) -> list[Model]:
    """Models in an order in which what a model streams comes before it; what it looks up too, unless that is cyclic."""
    left, ordered = list(project.models), list[Model]()
    while left:
        waiting = {model.table for model in left}
        ready = [m for m in left if not any(ref.stream and ref.table in waiting for ref in m.inputs)]
        known = [m for m in ready if waiting.isdisjoint({*_lookups(project, m)} - {m.table})]
        others = [m for m in ready if m.materialized != "snapshot"]
        ready = known or others or ready or left
        ordered += ready
        left = [m for m in left if m not in ready]
    return ordered


class _Empty:
    """The tables that models read, without rows; each frame is built once."""

    def __init__(self, session: SparkSession, project: Project, schemas: Mapping[str, StructType]) -> None:
        self.schemas = schemas
        self._session = session
        self._project = project
        self._frames: dict[tuple[str, bool], tuple[StructType | None, DataFrame]] = {}

    def frame(self, ref: Input, schemas: Mapping[str, StructType]) -> DataFrame:
        """The frame that a reference reads if tables have such schemas."""
        key, schema = (ref.name, ref.stream), schemas.get(ref.table)
        if key not in self._frames or self._frames[key][0] != schema:
            self._frames[key] = (schema, self._build(ref, schema))
        return self._frames[key][1]

    def streamed_views(self, model: Model) -> Mapping[str, DataFrame]:
        """The output of the views that a model streams: they are already analysed, as models of their own."""
        known = [ref for ref in model.inputs if ref.stream and ref.table in self.schemas]
        return {ref.table: self.frame(ref, self.schemas) for ref in known if view_of(self._project, ref)}

    def _build(self, ref: Input, schema: StructType | None) -> DataFrame:
        if schema is None:
            landing = no_rows(self._session, landing_schema())
            return bronze(landing, self._project.topic(ref.table.split(".")[1])[1])
        frame = no_rows(self._session, schema)
        if ref.versions:
            return frame.selectExpr("*", *(f"_arrival as {name}" for name in versions.COLUMNS))
        deleted = ref.stream and self._project.model(ref.table).materialized == "upsert"
        return frame.selectExpr("*", "false as _deleted") if deleted else frame


def _settled(session: SparkSession, project: Project, model: Model, empty: _Empty) -> StructType:
    """The model's output; a table that depends on it in turn (its own state) is typed step by step."""
    project = at_moment(project, _ANY_MOMENT) if model.materialized == "snapshot" else project
    lookups = {*_lookups(project, model)}
    schemas = {**empty.schemas, **{t: _declared(project.model(t)) for t in lookups - empty.schemas.keys()}}
    views = empty.streamed_views(model)
    schema = StructType()
    for _ in range(_ROUNDS if model.table in lookups else 1):
        previous = schema
        schema = Binder(session, project, lambda ref: empty.frame(ref, schemas), views).run(model).schema
        if schemas.get(model.table) == schema:
            break
        schemas[model.table] = schema
    else:
        if model.table in lookups:
            raise InvalidProject(_growing(model, previous, schema))
    return schema


def _growing(model: Model, previous: StructType, schema: StructType) -> Iterator[Finding]:
    """The columns whose type changes each time the model reads its own table."""
    for field in schema:
        if field.name in previous.names and previous[field.name].dataType != field.dataType:
            kinds = f"{previous[field.name].dataType.simpleString()}, then {field.dataType.simpleString()}"
            message = f"column {field.name} gets another type whenever the model reads its own rows: {kinds}; cast it"
            place = result_columns.place(model.text, model.path, field.name)
            yield Finding(place, "column-type", f"{message}{_cast(field.dataType)}")


def _cast(kind: DataType) -> str:
    """The cast that keeps a decimal's type."""
    return f", such as `cast(... as decimal(38,{kind.scale}))`" if isinstance(kind, DecimalType) else ""


def _streaming(session: SparkSession, project: Project, model: Model, empty: _Empty) -> Iterator[Finding]:
    """Find streams that Spark would only wait for; AnalysisException if its own checker says that it cannot run it."""

    def moving(ref: Input) -> DataFrame:
        rows = empty.frame(ref, empty.schemas)
        return as_stream(session, rows.schema) if ref.stream else rows

    frame = Binder(session, project, moving, apart=True).run(model)
    refuse_unstreamable(session, frame, update=model.output_mode == "update")
    places = {name: ref.place for ref, name in view_names(model).items()}
    for name in left_out(session, frame):
        yield Finding(places.get(name, Place(model.path)), "unused-stream", _LEFT_OUT)


def _lookups(project: Project, model: Model) -> Iterator[str]:
    for ref in model.inputs:
        view = view_of(project, ref)
        if view is not None:
            yield from _lookups(project, view)
        elif not ref.stream and not ref.table.startswith("bronze."):
            yield ref.table


def _declared(model: Model) -> StructType:
    """A table's columns before its query is analysed: as declared, else of unknown type."""
    names = dict.fromkeys((*(model.output_columns or ()), *model.columns))
    declared = columns_of(model.columns)
    return StructType([declared[name] if name in model.columns else StructField(name, NullType()) for name in names])


def _contract(model: Model, schema: StructType) -> Iterator[Finding]:
    found = {field.name: field.dataType for field in schema}
    place = model.header_places.get("columns", Place(model.path))
    for name, ddl in model.columns.items():
        declared = type_of(ddl)
        if name not in found:
            yield Finding(place, "contract", f"declared column {name} is not in the result; add or undeclare it")
        elif found[name] != declared:
            kinds = f"declared {declared.simpleString()}, found {found[name].simpleString()}"
            yield Finding(place, "contract", f"column {name}: {kinds}; cast it or declare what it is")
    for name in found.keys() - model.columns.keys() if model.columns and model.extra_columns == "refuse" else ():
        if not name.startswith("_") and model.output_columns is None:
            yield Finding(place, "contract", f"column {name} is not declared; add it to `columns`, or take it out")
    if model.materialized != "view":
        for field in schema:
            if isinstance(field.dataType, NullType):
                yield Finding(
                    place, "untyped-column", f"column {field.name} has no type; cast it or declare it in columns"
                )


def _expressions(session: SparkSession, model: Model, schema: StructType) -> Iterator[Finding]:
    """Spark's errors in the expressions of a header: they see the rows that the query produces."""
    rows = no_rows(session, schema)
    for key, text in model.expressions:
        try:
            _ = rows.select("*", F.expr(text).cast("string")) if key == "log" else rows.where(text)
        except SPARK_ERRORS as error:
            place = model.header_places.get(key, Place(model.path))
            yield Finding(place, "spark", f"{key}: {one_line(error)}")


def _finding(project: Project, model: Model, error: Exception) -> Finding:
    statement = bind(model, values=project.vars)
    place = statement.place(offset(error, statement.sql))
    plain = remedy(str(error)) if model.run == "streaming" else None
    return Finding(place, "spark", one_line(error)) if plain is None else Finding(place, "cannot-stream", plain)

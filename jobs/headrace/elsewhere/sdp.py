"""A project as Spark Declarative Pipelines: the models that those can run, and why not the others.

Their flows run in Spark's streaming engine and append. So a model is exported if it appends there or works row by row,
and if all that it reads is exported.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlglot import exp

from headrace.environment.jars import resolve
from headrace.landing.body import body_type, read, typed
from headrace.project import secret_values
from headrace.project.literals import literal, quoted
from headrace.project.model import LANDING_COLUMNS, Input, Landing, Model, Project, Target, Topic
from headrace.project.sql import calls, dialect, sqltext
from headrace.project.statement import bind
from headrace.secrets import is_secret
from headrace.spark.session import DELTA
from headrace.store.connectors.places import Place
from headrace.store.paths import StorePath, spark_uri

_STATEFUL = (exp.Window, exp.AggFunc, exp.Group, exp.Join, exp.Distinct, exp.Order, exp.Limit, exp.SetOperation)
SETTINGS = "spark.properties"
"""The file with the settings for Delta and the store that Spark needs before it starts."""

_WORDS = {"view": "temporary view", "append": "streaming table"}

BRONZE = '''"""What headrace has landed: one view per topic, usable rows only."""

from pyspark import pipelines as dp
from pyspark.sql import SparkSession

spark = SparkSession.active()
'''
VIEW = """

@dp.temporary_view
def {name}():
    rows = spark.readStream.format("delta").option("ignoreDeletes", "true").load({path})
    return rows.where({where}).selectExpr(
        {columns},
    )
"""


@dataclass(frozen=True)
class Export:
    """The files of a pipeline, the kind of each exported model, and why the others are not exported."""

    files: Mapping[str, str]
    kinds: Mapping[str, str]
    refused: Mapping[str, str]


def export(project: Project, folder: Path) -> Export:
    """Make the pipeline of a project, for a folder."""
    refused = dict(_refused(project))
    exported = [model for model in project.models if model.table not in refused]
    read = {ref.table for model in exported for ref in model.inputs}
    files = {"spark-pipeline.yml": _spec(project, folder), SETTINGS: _settings(project.target)}
    files["transformations/bronze.py"] = _bronze(project, read)
    files |= {f"transformations/{model.layer}/{model.name}.sql": _statement(project, model) for model in exported}
    return Export(files, {model.table: _WORDS[model.materialized] for model in exported}, refused)


def _refused(project: Project) -> Iterator[tuple[str, str]]:
    reasons = {model.table: reason for model in project.models if (reason := _reason(project, model))}
    topics = {f"bronze.{topic.name}" for landing in project.landings for topic in landing.topics}
    while True:
        known = topics | {model.table for model in project.models if model.table not in reasons}
        missing = {
            model.table: f"it reads {ref.table}, which does not go along"
            for model in project.models
            for ref in model.inputs
            if model.table not in reasons and ref.table not in known
        }
        if not missing:
            return iter(reasons.items())
        reasons |= missing


def _reason(project: Project, model: Model) -> str | None:
    """Why a model cannot be exported, regardless of what it reads."""
    text = sqltext.read(model.text, model.path)
    macros = {macro.name for macro in project.macros} & {call.name for call in text.calls}
    if model.materialized in ("upsert", "snapshot"):
        return f"{model.materialized}: flows append, and know no current row of a key"
    if model.output_mode == "update":
        return "output_mode: update: flows append"
    if model.once_per:
        return "once_per: nothing there remembers keys permanently"
    if macros:
        return f"it calls the macro {min(macros)}: a pipeline takes no functions in SQL"
    if any(not ref.stream and not ref.table.startswith("bronze.") for ref in model.inputs):
        return "it looks a table up as of a batch"
    is_rowwise = not any(text.statement.find_all(*_STATEFUL))
    return None if model.run == "streaming" or is_rowwise else "it runs per micro-batch, over more than one row"


def _statement(project: Project, model: Model) -> str:
    kind = _WORDS[model.materialized].upper()
    comment = "" if model.materialized == "view" else f"\nCOMMENT {quoted(model.description)}"
    text = re.sub(r"\A\s*/\*.*?\*/\s*", "", bind(model, _name).sql, flags=re.DOTALL)
    return (
        f"-- {model.path}\nCREATE {kind} {_plain(model.table)}{comment} AS\n{_with_values(project, text).rstrip()};\n"
    )


def _name(ref: Input) -> str:
    return f"stream {_plain(ref.table)}" if ref.stream else _plain(ref.table)


def _plain(table: str) -> str:
    return table.replace(".", "_")


def _with_values(project: Project, text: str) -> str:
    """The text with the values of its `:parameters`: a pipeline has none."""
    lines = text.splitlines(keepends=True)
    for parameter in reversed(calls.parameters(dialect.parse(text, ""))):
        line, start = parameter.place.line - 1, parameter.place.column - 1
        rest = lines[line][start + 1 + len(parameter.name) :]
        lines[line] = f"{lines[line][:start]}{literal(project.vars[parameter.name], parameter.is_list)}{rest}"
    return "".join(lines)


def _absolute(path: StorePath) -> str:
    return spark_uri(path.absolute() if isinstance(path, Path) else path)


def _spec(project: Project, folder: Path) -> str:
    storage = f"storage: {(folder.absolute() / 'storage').as_uri()}"
    return f"name: {project.name}\n{storage}\nlibraries:\n  - glob: {{include: transformations/**}}\n"


def _settings(target: Target) -> str:
    """What Spark needs to read the tables, and by name what it needs of secrets: those are not written to files."""
    place = Place("") if target.place is None else target.place
    jars = os.pathsep.join(map(str, (*resolve("spark"), *(jar for name in place.jars for jar in resolve(name)))))
    secret = {name for name, value in place.confs.items() if is_secret(name) or value in secret_values.of(target)}
    settings = {"spark.driver.extraClassPath": jars, **DELTA, "spark.sql.session.timeZone": "UTC", **place.confs}
    lines = [f"{name}={value}" for name, value in settings.items() if name not in secret]
    return "\n".join([*lines, *(f"# a secret, for you to give: {name}" for name in sorted(secret)), ""])


def _bronze(project: Project, tables: set[str]) -> str:
    views = [
        _view(project, landing, topic)
        for landing in project.landings
        for topic in landing.topics
        if f"bronze.{topic.name}" in tables
    ]
    return "".join([BRONZE, *views])


def _view(project: Project, landing: Landing, topic: Topic) -> str:
    body = body_type(topic)
    columns = [f"`{name}`" for name, _ in LANDING_COLUMNS]
    columns += [
        f"{typed(body, read(body))} as data",
        "struct(landing_batch, topic, partition, offset) as _arrival",
    ]
    return VIEW.format(
        name=f"bronze_{topic.name}",
        path=json.dumps(_absolute(project.target.layout.landing(landing.name))),
        where=json.dumps(f"topic = {quoted(topic.topic)} and reject_reason is null"),
        columns=",\n        ".join(map(json.dumps, columns)),
    )

"""Records a case from what has really landed: the newest landing batches that a model reads, and the rows they give."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from headrace.errors import UsageError
from headrace.project.model import Model, Project
from headrace.testing.cases import values
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.scope import narrowed
from headrace.testing.runs.trial import Models

MOST_RECORDS = 1_000

_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff]")
"""Characters that JSON may contain unescaped, and YAML may not."""


def write_case(sandbox: Sandbox, project: Project, model: Model, batches: int) -> Path:
    """Write the case; its file must not exist yet."""
    names = sources(project, model)
    landed = landed_batches(sandbox, project, names, batches)
    if not landed:
        raise UsageError(f"nothing that {model.table} reads has landed yet")
    given = [batch_of(rows, names) for rows in landed]
    rows = Models(sandbox, project).rows(model.table, given)
    path = (
        project.root
        / project.test_paths[0]
        / model.name
        / f"recorded_{_utc(landed[-1][0].landed_at):%Y%m%d_%H%M%S}.yml"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            description = f"What landed until {given[-1]['at']}, and the rows that it gave when it was recorded."
            cells = [{name: values.found(row[name]) for name in rows.columns} for row in rows.collect()]
            file.writelines(f"{line}\n" for line in lines(model, description, given, cells))
    except FileExistsError:
        raise UsageError(f"{path} is there already; remove it to record again") from None
    return path


def sources(project: Project, model: Model) -> Mapping[str, str]:
    """The topics behind a model, through all models that it reads: Kafka's names, and those in bronze."""
    whole = narrowed(project, [model.table])
    read = {ref.table for each in whole.models for ref in each.inputs}
    topics = (topic for landing in project.landings for topic in landing.topics)
    return {topic.topic: topic.name for topic in topics if f"bronze.{topic.name}" in read}


def landed_batches(sandbox: Sandbox, project: Project, names: Mapping[str, str], batches: int) -> list[list[Row]]:
    """The newest landing batches with records of some topics, oldest first."""
    layout, found = project.target.layout, dict[tuple[Any, ...], DataFrame]()
    for landing in project.landings:
        table = sandbox.landing_table(layout, landing.name)
        if table.newest_version() >= 0 and any(topic.topic in names for topic in landing.topics):
            rows = table.snapshot(sandbox.spark).where(F.col("topic").isin([*names]) & (F.col("partition") >= 0))
            numbers = rows.groupBy("landing_batch").agg(F.max("landed_at")).orderBy(F.desc("landing_batch"))
            for number, at in numbers.limit(batches).collect():
                found[at, landing.name, number] = rows.where(F.col("landing_batch") == number)
    in_order = [found[at].orderBy("topic", "partition", "offset") for at in sorted(found)[-batches:]]
    read = [rows.limit(MOST_RECORDS + 1).collect() for rows in in_order]
    if sum(map(len, read)) > MOST_RECORDS:
        raise UsageError(f"these batches hold more than {MOST_RECORDS} records; take fewer")
    return read


def time_of(moment: datetime) -> str:
    """A time of Spark's as written in a case."""
    return _utc(moment).isoformat().replace("+00:00", "Z")


def batch_of(rows: Sequence[Row], names: Mapping[str, str]) -> dict[str, Any]:
    """A landing batch as written in a case."""
    batch: dict[str, Any] = {"at": time_of(rows[0].landed_at)}
    for row in rows:
        batch.setdefault(names[row.topic], []).append(_record(row))
    return batch


def _record(row: Row) -> dict[str, Any]:
    record: dict[str, Any] = {"key": row.key if row["_key_bytes"] is None else bytes(row["_key_bytes"])}
    record["value"] = _parsed(row.value) if row["_value_bytes"] is None else bytes(row["_value_bytes"])
    record["timestamp"] = time_of(row.timestamp)
    record |= {"partition": row.partition} if row.partition else {}
    record["offset"] = row.offset
    headers = {header["key"]: bytes(header["value"] or b"").decode(errors="replace") for header in row.headers or ()}
    return {**record, "headers": headers} if headers else record


def _parsed(text: str | None) -> Any:
    """A JSON object as a mapping where that is equivalent, else the text as it came."""
    try:
        value = json.loads(text or "")
    except ValueError:
        return text
    same = {json.dumps(value, ensure_ascii=False), json.dumps(value, ensure_ascii=False, separators=(",", ":"))}
    return value if isinstance(value, (dict, list)) and text in same else text


def lines(
    model: Model,
    description: str,
    given: Sequence[Mapping[str, Any]],
    cells: Sequence[Mapping[str, str]],
    seeds: bool = False,
) -> Iterator[str]:
    """A case as YAML; `cells` are the JSON texts of the expected rows."""
    yield f"model: {model.table}"
    yield f"description: {description}"
    yield from ["seeds: true"] if seeds else []
    yield "given:"
    for batch in given:
        yield f'  - at: "{batch["at"]}"'
        for name, records in batch.items():
            if name != "at":
                yield f"    {name}:"
                yield from (f"      - {_flow(record)}" for record in records)
    yield "expect:"
    yield "  rows:" if cells else "  rows: []"
    yield from (f"    - {{{', '.join(f'{name}: {_yaml(text)}' for name, text in row.items())}}}" for row in cells)


def _flow(record: Mapping[str, Any]) -> str:
    return f"{{{', '.join(f'{name}: {_value(value)}' for name, value in record.items())}}}"


def _value(value: Any) -> str:
    if isinstance(value, bytes):
        return f'!!binary "{base64.b64encode(value).decode()}"'
    return _yaml(json.dumps(value, ensure_ascii=False))


def _yaml(text: str) -> str:
    """JSON as YAML can read it."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(timezone.utc)  # Spark returns naive local times

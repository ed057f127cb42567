"""The documentation of a project as one page of HTML that loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import SqlLexer

from headrace.catalogue import drawing
from headrace.catalogue.drawing import Picture
from headrace.catalogue.origins import Origins
from headrace.project.declarations import event_times
from headrace.project.model import LANDING_COLUMNS, Landing, Model, Project, Topic

LAYERS = ("gold", "silver", "bronze")


@dataclass(frozen=True)
class Facts:
    """What the page shows beside the contents of the files: tests, types that Spark found, freshness, the runner."""

    at: datetime
    tests: Sequence[Mapping[str, Any]] = ()
    types: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    fresh: Mapping[str, datetime] = field(default_factory=dict)
    runner: str = "never ran"


def render(project: Project, origins: Origins, facts: Facts) -> str:
    """Return the page."""
    environment = Environment(
        loader=PackageLoader("headrace.catalogue", ""), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    reads = _reads(project)
    entries = [_model(model, origins, facts, reads) for model in project.models]
    entries += [_source(landing, topic, facts, reads) for landing in project.landings for topic in landing.topics]
    entries.sort(key=lambda entry: (LAYERS.index(entry["table"].split(".")[0]), entry["table"]))
    page = {
        "name": project.name,
        "target": project.target.name,
        "runner": facts.runner,
        "at": _time(facts.at),
        "style": Markup(_style()),
        "layers": [(layer, [each for each in entries if each["table"].startswith(f"{layer}.")]) for layer in LAYERS],
        "pictures": [*_pictures(project, reads)],
        "own": {domain: _own(project, domain) for domain in _domains(project)},
        "looks": {entry["table"]: f"{entry['table'].split('.')[0]} {entry['kind']}" for entry in entries},
        "box": {"width": drawing.WIDTH, "height": drawing.HEIGHT},
        "entries": entries,
    }
    return environment.get_template("page.html.j2").render(page=page)


def _model(model: Model, origins: Origins, facts: Facts, reads: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    types = {**facts.types.get(model.table, {}), **model.columns}
    names = list(dict.fromkeys((*(model.output_columns or ()), *types)))
    details = {
        "query": model.query,
        "engine": model.run.replace("_", "-") if model.query else None,
        "key": ", ".join(model.unique_key or model.once_per),
        "publishes to": _topic_of(model),
        "owner": model.owner,
        "tags": ", ".join(model.tags),
        "last written": _time(facts.fresh.get(model.table)),
        **{f"allows {code}:": reason for code, reason in model.allow.items()},
    }
    return {
        "table": model.table,
        "kind": model.materialized,
        "description": model.description,
        "facts": [(fact, value) for fact, value in details.items() if value],
        "reads": reads[model.table],
        "readers": _readers(model.table, reads),
        "columns": [_column(model, name, types, origins) for name in names],
        "tests": [test for test in facts.tests if test["model"] == model.table],
        "path": model.path,
        "sql": Markup(highlight(model.text, SqlLexer(), HtmlFormatter())),
    }


def _source(landing: Landing, topic: Topic, facts: Facts, reads: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    table = f"bronze.{topic.name}"
    details = {"topic": topic.topic, "landing": landing.name, "event time": event_times.describe(topic)}
    details["last written"] = _time(facts.fresh.get(table))
    fields = [{"name": f"data.{each.name}", "type": each.type, "made_of": ""} for each in topic.fields]
    landed = [{"name": name, "type": kind, "made_of": ""} for name, kind in LANDING_COLUMNS if name[0] != "_"]
    return {
        "table": table,
        "kind": "source",
        "description": topic.description,
        "facts": [(fact, value) for fact, value in details.items() if value],
        "reads": (),
        "readers": _readers(table, reads),
        "columns": [*fields, *landed],
        "tests": [],
        "path": topic.place.path,
        "sql": "",
    }


def _column(model: Model, name: str, types: Mapping[str, str], origins: Origins) -> dict[str, str]:
    column = origins.columns.get(f"{model.table}.{name}")
    return {"name": name, "type": types.get(name, ""), "made_of": ", ".join(column.parents) if column else ""}


def _reads(project: Project) -> dict[str, tuple[str, ...]]:
    """Return what each table reads; what is no table of the project is left out."""
    topics = [f"bronze.{topic.name}" for landing in project.landings for topic in landing.topics]
    known = {*topics, *(model.table for model in project.models)}
    found: dict[str, tuple[str, ...]] = {topic: () for topic in topics}
    for model in project.models:
        inputs = dict.fromkeys(input_.table for input_ in model.inputs if input_.table in known)
        found[model.table] = tuple(inputs)
    return found


def _readers(table: str, reads: Mapping[str, tuple[str, ...]]) -> list[str]:
    return [other for other, read in reads.items() if table in read and other != table]


def _pictures(project: Project, reads: Mapping[str, tuple[str, ...]]) -> Iterable[tuple[str, Picture]]:
    """Draw each domain: its own tables, and what they read of others."""
    for domain in _domains(project):
        own = _own(project, domain)
        shown = {table: tuple(other for other in reads[table] if other != table) for table in own if table in reads}
        for other in [other for read in shown.values() for other in read]:
            shown.setdefault(other, ())
        used = {other for read in shown.values() for other in read}
        connected = {table: read for table, read in shown.items() if read or table in used}
        if connected:
            yield domain, drawing.draw(connected)


def _own(project: Project, domain: str) -> list[str]:
    topics = [(landing.name, topic) for landing in project.landings for topic in landing.topics]
    own = [f"bronze.{topic.name}" for name, topic in topics if name == domain]
    return [*own, *(model.table for model in project.models if model.domain == domain)]


def _domains(project: Project) -> list[str]:
    return sorted({*(model.domain for model in project.models), *(landing.name for landing in project.landings)})


def _topic_of(model: Model) -> str | None:
    if model.publish is None:
        return None
    return model.publish.topic or f"the topic in {model.publish.topic_column}"


def _time(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC") if moment else ""


def _style() -> str:
    return str(HtmlFormatter().get_style_defs(".highlight"))  # type: ignore[no-untyped-call]

"""Everything that a project can declare is compared by a plan, or it is said here why it cannot matter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import Place
from headrace.planning import plan
from headrace.project.model import (
    DataTest,
    Field,
    Input,
    Kafka,
    Landing,
    Macro,
    Model,
    Project,
    Publish,
    Seed,
    Target,
    Topic,
)
from tests.plan.live import FILES, NEWS, NEWS_FILE, TOTALS, TOTALS_FILE, Live

A_TEST = "tests: {columns: {id: [{relationships: {to: silver.totals, field: id, on_failure: dead_letter}}]}}\n"
PROJECT = {
    **FILES,
    NEWS_FILE: NEWS.replace("publish:", f"{A_TEST}publish:").replace("total > 10", "twice(total) > :least"),
    TOTALS_FILE: TOTALS.replace("unique_key: id\n", "unique_key: id\ntests: {columns: {id: [not_null]}}\n"),
}

A_SEED = Seed(2, "k", '{"x": 1}')
TOTALS_OF, NEWS_OF = "silver.totals", "gold.news"
COMPARED: Mapping[type, Mapping[str, Any]] = {
    Topic: {
        "topic": "other",
        "fields": (Field("k", "string", False),),
        "scalar": "bigint",
        "event_time": "timestamp_seconds(x)",
        "event_time_unit": "us",
        "reject": (("large", "x > 7"),),
        "null_key": True,
        "null_value": True,
        "idle_after": 60.0,
        "seeds": (Seed(2, "k", "{}"),),
    },
    Landing: {"keep": 86_400.0, "name": "other"},
    Model: {
        "materialized": (NEWS_OF, "upsert"),
        "run": (NEWS_OF, "streaming"),
        "query": (NEWS_OF, "other"),
        "output_mode": (NEWS_OF, "update"),
        "unique_key": (TOTALS_OF, ("total",)),
        "once_per": (NEWS_OF, ("id",)),
        "delete_when": (TOTALS_OF, "total > 5"),
        "close_when": (TOTALS_OF, "total > 5"),
        "publish": (NEWS_OF, None),
        "on_error": (NEWS_OF, "dead_letter"),
        "remember": (NEWS_OF, 60.0),
        "every": (NEWS_OF, 60.0),
        "tests": (NEWS_OF, ()),
        "max_state_bytes": (TOTALS_OF, 5_000),
        "keep": (NEWS_OF, 86_400.0),
    },
    Publish: {
        "key": "total",
        "value": (("sum", "total"),),
        "topic": "other",
        "topic_column": "id",
        "tombstone_when": "total > 5",
        "value_column": "id",
        "suffix": "_other",
    },
    DataTest: {
        "name": "other",
        "kind": "not_null",
        "fails": "`id` = 'x'",
        "on_failure": "warn",
        "column": "total",
        "to": "silver.others",
        "field": "total",
    },
    Macro: {
        "name": "doubled",
        "text": "create temporary function twice(v bigint) returns bigint return v * 3",
    },
    Seed: {"key": "other", "value": '{"x": 2}'},
    Field: {"name": "other", "type": "double", "required": True},
    Input: {"table": "silver.b"},
    Kafka: {"options": {"isolation.level": "read_uncommitted"}},
    Project: {"vars": {"least": 2}},
    Target: {
        "kafka": Kafka(options={"isolation.level": "read_uncommitted"}),
        "spark_conf": {"spark.sql.ansi.enabled": "false"},
    },
}
"""Another value of each field that decides which rows, records or state there are; of a model, with its table."""

UNIMPORTANT: Mapping[type, Mapping[str, str]] = {
    Topic: {
        "name": "readers name it: another name is another source",
        "place": "where it is written",
        "places": "where it is written",
        "description": "said to people",
        "start": "counts only for a topic that has never landed",
        "partitions": "how a topic is created that is not there",
        "macros": "those that its expressions call, which are compared with them",
    },
    Landing: {
        "topics": "each is compared by itself",
        "place": "where it is written",
        "places": "where it is written",
        "keep_history": "for how long replaced files stay; every reader knows the newer ones",
    },
    Model: {
        **dict.fromkeys(("layer", "name"), "its table: another one is another model"),
        "domain": "the folder; what its settings say is compared",
        "path": "where it is written",
        "header_places": "where it is written",
        **dict.fromkeys(("description", "tags", "owner", "meta"), "said to people"),
        "allow": "findings of a check that do not stop it",
        "extra_columns": "what a check refuses",
        "columns": "what a check refuses; Spark's types are compared",
        "log": "what is logged",
        "keep_history": "for how long replaced files stay; every reader knows the newer ones",
        "text": "compared step by step, column by column: the scenarios",
        **dict.fromkeys(("inputs", "parameters", "intervals", "lists", "output_columns"), "parts of its text"),
    },
    Publish: {"start": "counts only for a model that has never been published"},
    DataTest: {"place": "where it is written"},
    Macro: {"path": "where it is written"},
    Seed: {"line": "where it is written"},
    Field: {},
    Input: {
        **dict.fromkeys(("start", "end", "place"), "where it is written"),
        **dict.fromkeys(("stream", "versions", "past", "has_alias"), "words of the text, which is compared"),
    },
    Kafka: {
        "bootstrap": "where records come from; that these are the same is checked by their offsets",
        "create_topics": "who creates topics that are not there",
        "topics": "names; those of topics are compared",
    },
    Project: {
        **dict.fromkeys(("root", "places"), "where it is written"),
        "name": "said to people",
        **dict.fromkeys(("target", "landings", "models", "macros"), "each is compared by itself"),
        "queries": "the query of each model is compared",
        "functions": "what a check refuses",
        "test_paths": "where tests are",
        "landings_to_run": "which landings run now",
    },
    Target: {
        **dict.fromkeys(("name", "suffix", "like", "broker_of", "places"), "names; those of topics are compared"),
        **dict.fromkeys(("data_dir", "store"), "what is there is what a plan compares with"),
        **dict.fromkeys(("spark_master", "compiler", "small_batches"), "how fast it is"),
        **dict.fromkeys(("ingest_interval", "max_rows"), "how batches are cut, on which no rows depend"),
        "keep_history": "for how long replaced files stay; every reader knows the newer ones",
        "vars": "of the project, where each model's are compared",
        **dict.fromkeys(("mail", "http"), "services beside the queries"),
        "input": "counts only for topics that have never landed",
    },
}


@pytest.mark.parametrize("kind", COMPARED, ids=lambda kind: kind.__name__)
def test_every_field_is_compared_or_cannot_matter(kind: type) -> None:
    assert sorted((*COMPARED[kind], *UNIMPORTANT[kind])) == sorted(field.name for field in fields(kind))


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind, names in COMPARED.items() for name in names],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_another_value_is_never_the_same(kind: type, name: str, tmp_path: Path) -> None:
    live = Live(tmp_path, PROJECT)
    started = _edited(live.project, Topic, "seeds", (A_SEED,)) if kind is Seed else live.project
    live.start(started)
    edited = _edited(started, kind, name, COMPARED[kind][name])
    assert {entry.verdict for entry in plan.make(edited, live.layout).entries} - {"SAME", "NEW", "ORPHAN"}


def _edited(project: Project, kind: type, name: str, value: Any) -> Project:
    """The project with another value of one field, of the first of a kind that has a use."""
    if kind is Project:
        return replace(project, **{name: value})
    if kind is Target:
        return replace(project, target=replace(project.target, **{name: value}))
    if kind is Kafka:
        return _edited(project, Target, "kafka", replace(project.target.kafka, **{name: value}))
    if kind is Macro:
        return replace(project, macros=tuple(replace(each, **{name: value}) for each in project.macros))
    if kind is Seed:
        return _edited(project, Topic, "seeds", (replace(A_SEED, **{name: value}),))
    if kind is Field:
        fields = project.landings[0].topics[0].fields
        changed = (replace(each, **{name: value}) if each.name == "x" else each for each in fields)
        return _edited(project, Topic, "fields", tuple(changed))
    if kind is Input:
        news = project.model(NEWS_OF)
        return _with(project, replace(news, inputs=tuple(replace(each, **{name: value}) for each in news.inputs)))
    if kind is Landing:
        return replace(project, landings=tuple(replace(each, **{name: value}) for each in project.landings))
    if kind is Topic:
        (landing,) = project.landings
        topics = tuple(replace(each, **{name: value}) for each in landing.topics[:1])
        return replace(project, landings=(replace(landing, topics=(*topics, *landing.topics[1:])),))
    if kind is Model:
        table, value = value
        return _with(project, replace(project.model(table), **{name: value}))
    news = project.model(NEWS_OF)
    if kind is Publish and news.publish is not None:
        return _with(project, replace(news, publish=replace(news.publish, **{name: value})))
    return _with(project, replace(news, tests=(replace(news.tests[0], **{name: value}),)))


def _with(project: Project, model: Model) -> Project:
    """The project with another version of one model."""
    models = tuple(model if each.table == model.table else each for each in project.models)
    queries = tuple(
        replace(query, models=tuple(model if each.table == model.table else each for each in query.models))
        for query in project.queries
    )
    return replace(project, models=models, queries=queries)


def test_place_says_nothing_of_meaning(tmp_path: Path) -> None:
    live = Live(tmp_path, PROJECT)
    live.start()
    edited = _edited(live.project, Topic, "place", Place("sql/bronze/other.yml", 9, 9))
    assert {entry.verdict for entry in plan.make(edited, live.layout).entries} == {"SAME"}

"""Edits that once passed for harmless: each of them changes rows, or leaves them in spite of how it looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from headrace.errors import Place
from headrace.planning.comparison import Comparison
from headrace.planning.declared import Declared
from headrace.planning.settings import edited_topic_columns
from headrace.project import loader
from headrace.project.model import Macro, Project, Topic
from tests.plan.corpus import BASE as SHARED
from tests.plan.places import misplaced, obscure

ARRIVAL = "struct<landing_batch:bigint,topic:string,partition:int,offset:bigint>"
SCHEMAS = {
    "gold.sessions": {"k": "string", "ended_at": "timestamp", "n": "bigint"},
    "gold.windows": {"k": "string", "started_at": "timestamp", "n": "bigint"},
    "gold.both": {"started_at": "timestamp", "n": "bigint", "last": "timestamp"},
    "gold.newest": {"k": "string", "started_at": "timestamp", "n": "bigint"},
    "silver.numbers": {"id": "string", "n": "bigint", "grade": "bigint", "_arrival": ARRIVAL},
    "silver.entries": {"id": "string", "attrs": "map<string,string>", "place": "struct<Town:string>"},
    "silver.rates": {"k": "string", "rate": "bigint", "_arrival": ARRIVAL},
    "silver.totals": {"id": "string", "total": "bigint", "_arrival": ARRIVAL},
    "silver.current": {"id": "string", "x": "bigint", "gone": "boolean", "_arrival": ARRIVAL},
    "gold.named": {"id": "string", "rate": "bigint", "_arrival": ARRIVAL},
    "gold.ids": {"id": "string", "_arrival": ARRIVAL},
    "silver.sums": {"id": "string", "total": "bigint", "_arrival": ARRIVAL},
}
MANIFEST, CONF, SOURCES = "manifest.yml", "conf/test.yml", "sql/bronze/m.yml"
VIEW = "sql/silver/s/a.sql"
FILES = {
    **SHARED,
    MANIFEST: SHARED[MANIFEST].replace(
        "{least: 1}", "{least: 1, wait: 60, hold: 600, factor: 2, words: [a, b], some: 1}"
    ),
    CONF: "kafka: {bootstrap: embedded}\nspark: {conf: {spark.executor.cores: 2}}\n",
    SOURCES: """landing: m
topics:
  m:
    description: Entries; one record per entry.
    schema: {k: string, attrs: 'map<string, string>', place: 'struct<Town: string>', x: bigint, day: date}
  given:
    description: Rates; one record per rate.
    schema: {k: string, rate: bigint}
    null_value: allow
    seed: given.csv
  fixed:
    description: Names; one record per name.
    schema: {k: string, name: string}
    seed: fixed.csv
""",
    "sql/bronze/given.csv": "k,rate\np,2\nq,3\n",
    "sql/bronze/fixed.csv": "k,name\np,Pia\nq,Quentin\n",
    "sql/gold/s/sessions.sql": """/*
Sessions: one row per k per session.

materialized: append
columns: {ended_at: timestamp}
remember: :hold
*/
with a as (
    select k, x, at from stream silver.a watermark at delay of interval :wait seconds
),
known as (
    select k, ended_at from gold.sessions
),
fresh as (
    select a.* from a left anti join known on a.k = known.k and a.at <= known.ended_at
),
sessions as (
    select k, session_window(at, '5 minutes') as session, max(at) as ended_at, count(*) as n
    from fresh
    group by k, session_window(at, '5 minutes')
)
select k, ended_at, n from sessions
""",
    "gold/windows": """/*
Amounts in ten minutes: one row per k per window.

materialized: append
*/
with a as (
    select k, x, at from stream silver.a watermark at delay of interval :wait seconds
),
counted as (
    select k, window(at, '10 minutes') as ten, count(*) as n from a group by k, window(at, '10 minutes')
)
select k, ten.start as started_at, n from counted
""",
    "silver/all": """/*
Amounts and answers: one row per record.
*/
select k, at, at as came from stream silver.a
union all
select k, at, at as came from stream silver.b
""",
    "gold/both": """/*
Records in ten minutes: one row per window.

materialized: append
*/
with a as (
    select at, came from stream silver.all watermark at delay of interval :wait seconds
),
counted as (
    select window(at, '10 minutes') as ten, count(*) as n, max(came) as last from a group by window(at, '10 minutes')
)
select ten.start as started_at, n, last from counted
""",
    "gold/newest": """/*
Amounts in ten minutes: one row per k.

materialized: upsert
unique_key: k
*/
with a as (
    select k, x, at from stream silver.a watermark at delay of interval 1 minute
),
counted as (
    select k, window(at, '10 minutes') as ten, count(*) as n from a group by k, window(at, '10 minutes')
)
select k, ten.start as started_at, n from counted
""",
    "silver/entries": """/*
Entries: one row per entry.

materialized: append
*/
select
    key as id,
    data.attrs,
    data.place,
    data.attrs.Color as color,
    data.x + :factor as y,
    data.place.Town as town,
    data.day + interval 1 day as due,
    data.day + interval 1 hour as soon,
    _arrival
from stream bronze.m
""",
    "gold/colors": """/*
Colors: one row per entry.

materialized: append
*/
select id, attrs.Color as color, transform(array(attrs), one -> one.Color) as colors, _arrival
from stream silver.entries
""",
    "silver/rates": """/*
Rates: one row per k.

materialized: upsert
unique_key: k
*/
select data.k, data.rate as rate, _arrival from stream bronze.given
""",
    "silver/fixed": """/*
Names: one row per name that landed.

materialized: append
*/
select data.k, data.name, _arrival from stream bronze.fixed
""",
    "gold/named": """/*
Amounts with their rate: one row per amount.

materialized: append
*/
with a as (
    select id, k, x, _arrival from stream silver.a
),
r as (
    select k, rate from silver.rates
)
select a.id, r.rate, a._arrival from a left join r on a.k = r.k
""",
    "silver/totals": """/*
Running totals: one row per id.

materialized: upsert
unique_key: id
*/
with a as (
    select id, k, x, _arrival from stream silver.a
),
r as (
    select k, rate from silver.rates
),
before as (
    select id, total from silver.totals
),
summed as (
    select
        a.id,
        coalesce(before.total, 0)
        + sum(a.x * coalesce(r.rate, 1)) over (partition by a.id order by a._arrival) as total,
        a._arrival
    from a
    left join before on a.id = before.id
    left join r on a.k = r.k
)
select * from summed
""",
    "silver/sums": """/*
Running sums of rates: one row per id.

materialized: upsert
unique_key: id
*/
with a as (
    select id, rate, _arrival from stream gold.named
),
before as (
    select id, total from silver.sums
)
select
    a.id,
    coalesce(before.total, 0) + sum(a.rate) over (partition by a.id order by a._arrival) as total,
    a._arrival
from a
left join before on a.id = before.id
""",
    "silver/numbers": """/*
Numbered amounts: one row per amount.

materialized: append
*/
with a as (
    select id, x, _arrival from stream silver.a
),
before as (
    select max(n) as n from silver.numbers
)
select
    a.id,
    coalesce(before.n, 0) + row_number() over (order by a._arrival) as n,
    a.x > 3 as big,
    a._arrival
from a
cross join before
""",
    "silver/current": """/*
Newest amounts: one row per id.

materialized: upsert
unique_key: id
delete_when: gone
publish: {topic: current, key: id, value: {x: x}, tombstone_when: hidden, start: latest}
tests: {columns: {small: {accepted_values: {values: [true], on_failure: dead_letter}}}}
*/
select id, x, x > 10 as gone, x > 5 as hidden, x < 100 as small, y, _arrival from stream silver.a
""",
    "gold/ids": """/*
Ids that came: one row per change.

materialized: append
*/
select id, _arrival from stream silver.current
""",
    "gold/castable": """/*
Numbers: one row per amount.

materialized: append
on_error: dead_letter
*/
select id, cast(k as int) as number, k is null as unknown, _arrival from stream silver.a
""",
    "gold/cast_ids": """/*
Ids of numbers: one row per number.

materialized: append
*/
select id, _arrival from stream gold.castable
""",
    "gold/tested": """/*
Amounts whose k has a rate: one row per amount.

materialized: append
tests: {columns: {k: [{relationships: {to: silver.rates, field: k, on_failure: dead_letter}}]}}
*/
select id, k, _arrival from stream silver.a
""",
    "gold/counts": """/*
Amounts beside what there is: one row per amount.

materialized: append
columns: {many: bigint}
*/
select id, (select count(*) from silver.rates) as many, _arrival
from stream silver.a
where exists (select 1 from silver.rates)
""",
}
FILES = {path if "." in path else f"sql/{path.replace('/', '/s/')}.sql": text for path, text in FILES.items()}


@dataclass(frozen=True)
class Case:
    """An edit of one file, and the verdict on one model."""

    file: str
    old: str
    new: str
    model: str
    verdict: str

    def __str__(self) -> str:
        return f"{self.model}: {self.new[:40]}"


def sql(table: str) -> str:
    return f"sql/{table.replace('.', '/s/')}.sql"


def own(model: str, old: str, new: str, verdict: str) -> Case:
    """An edit of the model itself."""
    return Case(sql(model), old, new, model, verdict)


CASES = [
    # Parameters in a WATERMARK clause have their values.
    Case(MANIFEST, "wait: 60", "wait: 90", "gold.windows", "FORWARD"),
    Case(MANIFEST, "wait: 60", "wait: 90", "gold.sessions", "FORWARD"),
    own("gold.windows", ":wait seconds", "60 seconds", "SAME"),
    Case(MANIFEST, "wait: 60", "wait: 90", "gold.both", "FORWARD"),
    own("gold.windows", ":wait seconds", "1 minute", "SAME"),
    # So have those of a header.
    Case(MANIFEST, "hold: 600", "hold: 60", "gold.sessions", "FORWARD"),
    own("gold.sessions", "remember: :hold", "remember: 600", "SAME"),
    own("gold.sessions", "remember: :hold", "remember: 60", "FORWARD"),
    # What a streaming model reads back of its own is state.
    own("gold.sessions", "select k, ended_at, n", "select k, ended_at + interval 1 hour as ended_at, n", "MIX"),
    own("gold.sessions", "select k, ended_at, n", "select k, ended_at, n + 1 as n", "KEEP"),
    own("gold.sessions", "ended_at from gold.sessions", "ended_at from gold.sessions where n > 1", "FORWARD"),
    # An entry of a map has its name as it is written; a field of a struct has not.
    own("silver.entries", "attrs.Color", "attrs.color", "KEEP"),
    own("silver.entries", "attrs.Color", "attrs['Color']", "SAME"),
    own("silver.entries", "place.Town", "place.town", "SAME"),
    own("silver.entries", "place.Town", "Place['TOWN']", "SAME"),
    own("silver.entries", "data.x", "data.X", "SAME"),
    own("gold.colors", "attrs.Color", "attrs.color", "KEEP"),
    own("gold.colors", "attrs.Color", "attrs['Color']", "SAME"),
    own("gold.colors", "one.Color", "one.color", "UNDECIDED"),
    # A day after a date is a date, and so many hours after it are a time.
    own("silver.entries", "interval 1 day", "interval 24 hours", "UNDECIDED"),
    own("silver.entries", "interval 1 hour", "interval 60 minutes", "SAME"),
    # Values have types.
    Case(MANIFEST, "factor: 2", "factor: 2.0", "silver.entries", "KEEP"),
    Case(MANIFEST, "factor: 2", "factor: '2'", "silver.entries", "UNDECIDED"),
    own("silver.entries", ":factor", "2", "SAME"),
    # A table of which only rows count is a table all the same.
    own("gold.counts", "count(*) from silver.rates", "count(*) from silver.fixed", "KEEP"),
    own("gold.counts", "1 from silver.rates", "1 from silver.fixed", "KEEP"),
    # Columns that decide which rows there are.
    own("silver.current", "x > 10 as gone", "x > 11 as gone", "FORWARD"),
    own("silver.current", "x < 100 as small", "x < 200 as small", "FORWARD"),
    Case(sql("silver.current"), "x > 10 as gone", "x > 11 as gone", "gold.ids", "FORWARD"),
    Case(sql("silver.current"), "x < 100 as small", "x < 200 as small", "gold.ids", "FORWARD"),
    Case(sql("silver.current"), "x > 5 as hidden", "x > 6 as hidden", "gold.ids", "FORWARD"),
    Case(sql("silver.current"), "y, _arrival", "y + 1 as y, _arrival", "gold.ids", "SAME"),
    Case(VIEW, "data.x as x", "data.x * 2 as x", "gold.ids", "FORWARD"),
    own("silver.fixed", "append", "append\non_error: dead_letter", "KEEP"),
    Case(sql("silver.rates"), "data.rate as rate", "data.rate + 1 as rate", "gold.tested", "FORWARD"),
    # With `on_error: dead_letter`, an expression that may fail decides so too.
    Case(sql("gold.castable"), "cast(k as int)", "cast(id as int)", "gold.cast_ids", "KEEP"),
    Case(sql("gold.castable"), "k is null", "id is null", "gold.cast_ids", "SAME"),
    # A column that an append reads back is null in the rows that are there.
    own("silver.numbers", "a.x > 3 as big", "a.x > 3 as big, a.x as old", "KEEP"),
    own(
        "silver.numbers",
        "max(n) as n from silver.numbers\n)\nselect\n    a.id,",
        "max(n) as n, max(top) as top from silver.numbers\n)\nselect\n    a.id,\n    greatest(before.top, a.x) as top,",
        "FORWARD",
    ),
    # Seeds: what differs lands.
    Case("sql/bronze/given.csv", "p,2\nq,3", "q,3\np,2", "silver.rates", "SAME"),
    Case("sql/bronze/given.csv", "p,2\n", "p,5\n", "silver.rates", "FORWARD"),
    Case("sql/bronze/given.csv", "p,2\n", "", "silver.rates", "FORWARD"),
    Case("sql/bronze/fixed.csv", "p,Pia\n", "p,Pia\nr,Rosa\n", "silver.fixed", "KEEP"),
    Case("sql/bronze/fixed.csv", "p,Pia\n", "", "silver.fixed", "KEEP"),
    # The current rows of an upsert are of two kinds, in the streaming engine too.
    own("gold.newest", "from counted", "from counted where k <> 'p'", "FORWARD"),
    # What Spark is told of the meaning of all SQL.
    Case(CONF, "cores: 2", "cores: 2, spark.sql.ansi.enabled: false", "gold.windows", "MIX"),
    Case(CONF, "cores: 2", "cores: 2, spark.sql.session.timeZone: Asia/Tokyo", "silver.entries", "KEEP"),
    Case(CONF, "cores: 2", "cores: 2, spark.sql.caseSensitive: true", "silver.current", "FORWARD"),
    Case(CONF, "cores: 2", "cores: 2, spark.sql.ansi.enabled: true", "gold.windows", "SAME"),
    Case(CONF, "cores: 2", "cores: 3, spark.sql.shuffle.partitions: 7", "gold.windows", "SAME"),
    # What is folded into state is state, wherever it comes from.
    own("silver.totals", "total from silver.totals", "total from silver.totals where total > 3", "MIX"),
    Case(sql("silver.rates"), "data.rate as rate", "data.rate + 1 as rate", "silver.totals", "MIX"),
    Case(
        sql("silver.rates"),
        "from stream bronze.given",
        "from stream bronze.given where data.rate > 1",
        "silver.totals",
        "MIX",
    ),
    Case(sql("silver.rates"), "data.rate as rate", "data.rate + 1 as rate", "gold.named", "FORWARD"),
    Case(sql("silver.rates"), "data.rate as rate", "data.rate + 1 as rate", "silver.sums", "MIX"),
    Case(sql("silver.rates"), "data.rate as rate", "data.rate + 1 as rate", "gold.counts", "SAME"),
]


def test_macro_makes_the_event_time_another() -> None:
    old, new = (
        Topic("a", "a", Place("a.yml"), event_time="at(k)", macros=(Macro("at", "macros/at.sql", text),))
        for text in ("return v", "return v + 1")
    )
    assert "event_time" in edited_topic_columns(old, new)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Declared:
    return Declared.of(project(FILES, tmp_path_factory.mktemp("old")), SCHEMAS)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_edit_has_its_verdict_where_it_stands(case: Case, before: Declared, tmp_path: Path) -> None:
    assert case.old in FILES[case.file]
    files = {**FILES, case.file: FILES[case.file].replace(case.old, case.new)}
    edited = project(files, tmp_path)
    stored = [model.table for query in edited.queries for model in query.models]
    outcomes = Comparison(before, Declared.of(edited)).outcomes(stored)
    assert outcomes[case.model].verdict.name == case.verdict, [each.message for each in outcomes[case.model].reasons]
    reasons = [reason for outcome in outcomes.values() for reason in outcome.reasons]
    assert misplaced(reasons, FILES, files) == obscure(reasons) == []


def project(files: Mapping[str, str], folder: Path) -> Project:
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return loader.load(folder, "test")

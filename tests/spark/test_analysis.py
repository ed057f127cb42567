"""Spark's analysis of a project before anything starts: all models that cannot run are reported, with their places."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

from headrace import usercache
from headrace.checking import analysis, verdict
from headrace.checking.analysis import Analysis
from headrace.errors import Finding, InvalidProject, Place
from headrace.project import loader
from headrace.project.model import DataTest, Macro, Project
from headrace.project.rules import checks
from headrace.spark.spark_errors import one_line
from tests.unit.test_stream_rules import FAILS_LATER, NEVER_EMITTED, SHAPES

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]

STREAMING = "/*\nSales: one row per sale.\n\nmaterialized: append\nrun: streaming\n*/\n"
PER_BATCH = "/*\nSales: one row per sale.\n\nmaterialized: append\nquery: another\n*/\n"
FIRST_LINE = 7

UNSTREAMABLE = {
    "aggregate_without_watermark": "select product, count(*) as n from stream silver.sales group by product",
    "distinct_count": """select window(sold_at, '1 minute') as w, count(distinct product) as n
        from stream silver.sales watermark sold_at delay of interval 1 minute group by window(sold_at, '1 minute')""",
    "window_function": "select product, row_number() over (partition by product order by sold_at) as n "
    "from stream silver.sales",
    "sort": "select product, sold_at from stream silver.sales order by sold_at",
    "outer_join_without_watermark": """select a.product, b.total from stream silver.sales as a
        left join stream silver.sales_totals as b on a.product = b.product""",
    "anti_join_of_streams": """select a.product, a.sold_at from stream silver.sales as a
        left anti join stream silver.sales_totals as b on a.product = b.product""",
}
BATCHABLE = ("window_function", "sort")
WRONG = {
    "unknown_function": ("select key,\n    sum_up(key) as x\nfrom stream bronze.sales", "sum_up"),
    "wrong_type": ("select\n\n  date_add(product, array(1)) as d from stream silver.sales", "date_add"),
    "no_sql_to_the_parser": ("select product,\n  interval 3 foos as x\nfrom stream silver.sales", "foos"),
    "no_literal": ("select product,\n  timestamp 'noon' as x\nfrom stream silver.sales", "noon"),
}
CONTRACTS = {
    "contract_of_another_type": ("columns: {product: bigint}", "select product from stream silver.sales", 1),
    "contract_with_a_column_too_many": ("columns: {price: int}", "select product from stream silver.sales", 1),
    "contract_that_is_closed": (
        "columns: {product: string}\nextra_columns: refuse",
        "with a as (select product, sold_at, _arrival from stream silver.sales), b as (select key from bronze.sales) "
        "select * from a left join b on a.product = b.key",
        2,
    ),
    "contract_that_is_open": ("columns: {product: string}", "select product, sold_at from stream silver.sales", 0),
}

BESIDE = """with sold as (
    select product, sold_at from stream silver.sales watermark sold_at delay of interval 1 minute
),
called as (
    select user1, half_at from stream silver.call_halves watermark half_at delay of interval 1 minute
),
beside as (
    select sold.product, sold.sold_at, called.user1
    from sold left join called on sold.product = called.user1 and called.half_at between sold.sold_at
        and sold.sold_at + interval 1 minute
)
"""
LEFT_OUT = {
    "only_asked_for_groups": (BESIDE + "select product, window(sold_at, '1 day') as w from beside group by 1, 2", [11]),
    "only_asked_for_distinct_rows": (BESIDE + "select distinct product, sold_at from beside", [11]),
    "used": (BESIDE + "select distinct product, sold_at, user1 from beside", []),
    "counted": (BESIDE + "select window(sold_at, '1 day') as w, count(user1) as n from beside group by 1", []),
}
"""Two streams of which one may be left out, and the lines where it is."""

STORABLE = [
    "cast(sold_at - timestamp'2026-01-01' as string) as d",
    "cast(cast(sold_at as timestamp_ntz) as timestamp) as d",
    "array(named_struct('a', cast(1.5 as decimal(9, 2)), 'b', map('x', date'2026-01-01'))) as d",
    "_arrival",
]
NOT_STORABLE = [
    ("cast(sold_at as timestamp_ntz) as d", "column-type", "cast(d as timestamp)"),
    ("array(cast(sold_at as timestamp_ntz)) as d", "column-type", "d[]"),
    ("parse_json('1') as d", "column-type", "to_json(d)"),
    ("sold_at - timestamp'2026-01-01' as d", "column-type", "cast(d as string)"),
    ("interval 2 months as d", "column-type", "cast(d as string)"),
    ("collate(product, 'UTF8_LCASE') as d", "column-type", "cast(d as string)"),
    ("named_struct('a', null) as d", "column-type", "cast(null as string)"),
    ("product as d, sold_at as D", "duplicate-column", "d, D"),
    ("named_struct('a', 1, 'A', 2) as d", "duplicate-column", "a, A"),
    ("product as _batch", "reserved-column", "as batch"),
    ("product as `my product`", "bad-name", "my product"),
    ("named_struct('a(b', 1) as d", "bad-name", "a(b"),
]
GROWING = """with sold as (select product, cast(1 as decimal(10, 2)) as price, _arrival from stream silver.sales)
select sold.product, coalesce(before.total, 0) + sold.price as total, sold._arrival
from sold left join gold.growing as before on sold.product = before.product"""
READS_GROWING = """select sales.product, growing.total, sales._arrival
from stream silver.sales left join gold.growing on sales.product = growing.product"""


@cache
def sales_alone() -> Project:
    """The sales of the checkout alone: what Spark says of one model needs no others."""
    project = loader.load(ROOT, "test")
    models = tuple(model for model in project.models if model.domain == "sales")
    landings = tuple(landing for landing in project.landings if landing.name == "sales")
    return replace(project, models=models, landings=landings)


@pytest.fixture(scope="module")
def found(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Finding]]:
    """Spark's own findings, of each model of a project to which all of the above were added."""
    root = tmp_path_factory.mktemp("project")
    for part in ("conf", "macros", "manifest.yml", "sql"):
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, root / part)
    texts = {f"native_{name}": STREAMING + sql for name, sql in UNSTREAMABLE.items()}
    texts |= {f"left_{name}": STREAMING + sql for name, (sql, _) in LEFT_OUT.items()}
    texts |= {f"batch_{name}": PER_BATCH + UNSTREAMABLE[name] for name in BATCHABLE}
    texts |= {name: PER_BATCH + sql for name, (sql, _) in WRONG.items()}
    for name, (keys, sql, _) in CONTRACTS.items():
        texts[name] = PER_BATCH.replace("*/", f"{keys}\n*/") + sql
    texts |= {f"shape_{at}": f"/*\nOne row.\n\n{keys}\n*/\n{sql}" for at, (sql, keys, _) in enumerate(SHAPES)}
    texts |= {f"kept_{at}": PER_BATCH + f"select {sql} from stream silver.sales" for at, sql in enumerate(STORABLE)}
    refused = enumerate(sql for sql, _, _ in NOT_STORABLE)
    texts |= {f"refused_{at}": PER_BATCH + f"select {sql} from stream silver.sales" for at, sql in refused}
    texts["growing"] = PER_BATCH.replace("append", "upsert\nunique_key: product") + GROWING
    texts["reads_growing"] = PER_BATCH + READS_GROWING
    for name, text in texts.items():
        (root / f"sql/gold/sales/{name}.sql").write_text(text, "utf-8")
    by_model: dict[str, list[Finding]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "RULES", ())
        project = loader.load(root, "test")
    for finding in analysis.analyse(spark, project).findings:
        by_model.setdefault(Path(finding.place.path).stem, []).append(finding)
    return by_model


@pytest.mark.parametrize("shape", UNSTREAMABLE)
def test_what_no_stream_can_do_is_refused(found: dict[str, list[Finding]], shape: str) -> None:
    assert [finding.code for finding in found[f"native_{shape}"]] == ["cannot-stream"]


@pytest.mark.parametrize("name", LEFT_OUT)
def test_stream_that_spark_would_wait_for_in_vain_is_refused(found: dict[str, list[Finding]], name: str) -> None:
    _, lines = LEFT_OUT[name]
    assert [(each.code, each.place.line) for each in found.get(f"left_{name}", [])] == [
        ("unused-stream", at) for at in lines
    ]


@pytest.mark.parametrize("at", range(len(SHAPES)))
def test_offline_rules_agree_with_spark(found: dict[str, list[Finding]], at: int) -> None:
    query, _, offline = SHAPES[at]
    is_refused = bool({"cannot-stream", "outer-join"} & {*offline}) and query not in (*FAILS_LATER, *NEVER_EMITTED)
    codes = [each.code for each in found.get(f"shape_{at}", []) if each.code != "unused-stream"]
    assert codes == ["cannot-stream"] * is_refused


@pytest.mark.parametrize("shape", BATCHABLE)
def test_what_no_stream_can_do_runs_per_micro_batch(found: dict[str, list[Finding]], shape: str) -> None:
    assert f"batch_{shape}" not in found


@pytest.mark.parametrize("name", WRONG)
def test_fault_is_found_at_its_place(found: dict[str, list[Finding]], name: str) -> None:
    sql, word = WRONG[name]
    (finding,) = found[name]
    before = sql[: sql.index(word)]
    assert finding.place.line == FIRST_LINE + before.count("\n")
    assert word in finding.message


@pytest.mark.parametrize("name", CONTRACTS)
def test_contract_is_held(found: dict[str, list[Finding]], name: str) -> None:
    assert [finding.code for finding in found.get(name, [])] == ["contract"] * CONTRACTS[name][2]


@pytest.mark.parametrize("at", range(len(NOT_STORABLE)))
def test_column_that_no_table_can_store_is_refused(found: dict[str, list[Finding]], at: int) -> None:
    _, code, part = NOT_STORABLE[at]
    (finding,) = found[f"refused_{at}"]
    assert (finding.code, part in finding.message) == (code, True), finding


def test_type_that_grows_with_each_batch_is_refused(found: dict[str, list[Finding]]) -> None:
    (finding,) = found["growing"]
    assert (finding.code, "column total" in finding.message) == ("column-type", True), finding


def test_model_that_looks_up_a_faulty_one_has_no_finding_of_its_own(found: dict[str, list[Finding]]) -> None:
    assert "reads_growing" not in found


def test_models_as_they_are_have_no_findings(found: dict[str, list[Finding]]) -> None:
    ours = {name for name in found if not name.startswith(("shape_", "left_", "contract_", "refused_", "growing"))}
    assert ours == {*(f"native_{name}" for name in UNSTREAMABLE), *WRONG}


def test_verdict_is_cached_until_the_project_changes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usercache, "user_cache_path", lambda name: tmp_path / name)
    project, asked = sales_alone(), list[str]()
    first = verdict.schemas(spark, project)
    monkeypatch.setattr(analysis, "analyse", lambda *_: asked.append("again") or Analysis(first, ()))
    assert (verdict.schemas(spark, project), asked) == (first, [])
    verdict.schemas(spark, replace(project, vars={**project.vars, "sales_threshold": 1}))
    assert asked == ["again"]


def test_verdict_with_findings_is_not_cached(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usercache, "user_cache_path", lambda name: tmp_path / name)
    wrong = Finding(Place("sql/x.sql", 1, 1), "spark", "no")
    monkeypatch.setattr(analysis, "analyse", lambda *_: Analysis({}, (wrong,)))
    for _ in range(2):
        with pytest.raises(InvalidProject):
            verdict.schemas(spark, sales_alone())


def test_error_of_spark_is_not_logged_as_json(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AnalysisException):
        spark.sql("select sum_up(1)")
    assert "SQLQueryContextLogger" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("edited", "messages"),
    [
        ({"log": "no_such(product)"}, ["log: [UNRESOLVED_ROUTINE]"]),
        ({"delete_when": "total + 1"}, ["delete_when: [DATATYPE_MISMATCH"]),
        ({"tests": (DataTest("good", "row", "map(total, 1) > 1"),)}, ["tests.rows.good: [DATATYPE_MISMATCH"]),
        ({"log": "concat(product, ' ', total)", "delete_when": "total < 0"}, []),
    ],
    ids=["log", "delete_when", "test", "good"],
)
def test_expressions_of_a_header_are_analysed(spark: SparkSession, edited: dict[str, Any], messages: list[str]) -> None:
    project = sales_alone()
    models = [replace(each, **edited) if each.name == "sales_totals" else each for each in project.models]
    found = analysis.analyse(spark, replace(project, models=tuple(models))).findings
    assert len(found) == len(messages)
    assert all(each.message.startswith(message) for each, message in zip(found, messages, strict=True))


def test_fault_of_a_macro_is_found_at_its_place(spark: SparkSession) -> None:
    text = "create temporary function odd(a int)\nreturns int\nreturn a + interval 3 foos"
    project = sales_alone()
    found = analysis.analyse(spark, replace(project, macros=(Macro("odd", "macros/odd.sql", text),))).findings
    (finding,) = (each for each in found if each.place.path == "macros/odd.sql")
    assert (finding.place.line, "'foos'" in finding.message) == (3, True)


@pytest.mark.parametrize(
    ("error", "start"),
    [
        (
            ParseException("\n[PARSE_SYNTAX_ERROR] Syntax error at or near 'x'. SQLSTATE: 42601\n"),
            "[PARSE_SYNTAX_ERROR]",
        ),
        (ParseException(""), "Spark fails with ParseException"),
        (ParseException("java.lang.IllegalStateException: no such thing"), "no such thing"),
    ],
)
def test_message_of_spark_is_one_line_and_never_empty(error: ParseException, start: str) -> None:
    text = one_line(error)
    assert (text.startswith(start), "SQLSTATE" in text, "\n" in text) == (True, False, False)


def test_rules_that_reject_are_analysed(spark: SparkSession) -> None:
    project = sales_alone()
    landing, sales = project.topic("sales")
    rules = (("odd", "value % 2 = 1 and key <> 'x'"), ("bad", "no_such(product)"))
    landings = tuple(
        replace(each, topics=(replace(sales, reject=rules),)) if each.name == landing.name else each
        for each in project.landings
    )
    found = analysis.analyse(spark, replace(project, landings=landings)).findings
    assert [each.message[:32] for each in found] == ["reject bad: [UNRESOLVED_ROUTINE]"]


@pytest.mark.parametrize(
    ("event_time", "codes"),
    [
        ("to_timestamp(product, 'yyyy-MM-dd')", []),
        ("date(product)", []),
        ("data.value * 1000", ["bad-value"]),
        ("concat(product, '')", ["bad-value"]),
        ("timestamp_secs(value)", ["spark"]),
    ],
)
def test_event_time_in_sql_must_be_a_time(spark: SparkSession, event_time: str, codes: list[str]) -> None:
    project = sales_alone()
    landing, sales = project.topic("sales")
    topics = (replace(sales, event_time=event_time),)
    landings = tuple(replace(each, topics=topics) if each.name == landing.name else each for each in project.landings)
    found = analysis.analyse(spark, replace(project, landings=landings, models=())).findings
    assert [each.code for each in found] == codes

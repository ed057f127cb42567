"""Spark's judgement of whole projects before anything starts: every model that cannot run is named, at its place."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.engine import analysis
from headrace.project import loader

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]

Judge = Callable[[str], list[tuple[int, str, str]]]

STREAMING = """/*
Sales: one row per sale.

materialized: append
run: streaming
*/
"""
PER_BATCH = """/*
Sales: one row per sale.

materialized: append
query: another
*/
"""


@pytest.fixture
def judge(spark: SparkSession, tmp_path: Path) -> Judge:
    """What Spark finds wrong with the project plus one model: line, code and message."""
    for part in ("conf", "macros", "manifest.yml", "sql"):
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, tmp_path / part)

    def judged(text: str) -> list[tuple[int, str, str]]:
        (tmp_path / "sql/gold/sales/added.sql").write_text(text, "utf-8")
        found = analysis.analyse(spark, loader.load(tmp_path, "test")).findings
        assert {finding.place.path for finding in found} <= {"sql/gold/sales/added.sql"}
        return [(finding.place.line, finding.code, finding.message) for finding in found]

    return judged


def test_project_as_it_is_has_no_findings(judge: Judge) -> None:
    assert judge(STREAMING + "select product, value, sold_at from stream silver.sales") == []


UNSTREAMABLE = {
    "aggregate without watermark": "select product, count(*) as n from stream silver.sales group by product",
    "distinct count": """select window(sold_at, '1 minute') as w, count(distinct product) as n
        from stream silver.sales watermark sold_at delay of interval 1 minute group by window(sold_at, '1 minute')""",
    "window function": "select product, row_number() over (partition by product order by sold_at) as n "
    "from stream silver.sales",
    "sort": "select product, sold_at from stream silver.sales order by sold_at",
    "limit": "select product, sold_at from stream silver.sales limit 3",
    "outer join without watermark": """select a.product, b.value from stream silver.sales as a
        left join stream silver.sales_totals as b on a.product = b.product""",
    "anti join of streams": """select a.product, a.sold_at from stream silver.sales as a
        left anti join stream silver.sales_totals as b on a.product = b.product""",
}


@pytest.mark.parametrize("shape", UNSTREAMABLE)
def test_what_no_stream_can_do_is_refused(judge: Judge, shape: str) -> None:
    (found,) = judge(STREAMING + UNSTREAMABLE[shape])
    assert found[1] == "spark"


@pytest.mark.parametrize("shape", ["window function", "sort", "distinct count"])
def test_what_no_stream_can_do_runs_per_micro_batch(judge: Judge, shape: str) -> None:
    assert judge(PER_BATCH + UNSTREAMABLE[shape].replace("watermark sold_at delay of interval 1 minute", "")) == []


def test_column_that_does_not_exist_is_found_at_its_place(judge: Judge) -> None:
    ((line, code, message),) = judge(PER_BATCH + "select product,\n    sould_at\nfrom stream silver.sales")
    assert (line, code, "sould_at" in message, "sold_at" in message) == (8, "spark", True, True)


def test_wrong_type_is_found(judge: Judge) -> None:
    ((line, code, _),) = judge(PER_BATCH + "select product, date_add(product, array(1)) as d from stream silver.sales")
    assert (line, code) == (7, "spark")

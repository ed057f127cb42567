"""`--spark`: what is left to Spark, and what only Spark knows, runs there as it is typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from headrace import cli
from headrace.commands import viewing
from tests.kafka.events import sale
from tests.kafka.oracle import SALES
from tests.kafka.sales import sales
from tests.kafka.stage import PROJECT, Stage

pytestmark = pytest.mark.kafka

TOTALS = "silver.sales_totals"


@pytest.fixture(scope="module")
def sold(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    project = sales(stage, tmp_path_factory.mktemp("sales") / "project", 2000)
    stage.create({SALES: 1})
    stage.send([sale("pen", 2500), sale("tea", 5), sale("cup", 2600)])
    assert stage.failures("sales", project=project.project) == ()
    return stage


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


Call = Callable[..., Any]


@pytest.fixture
def call(sold: Stage, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Call:
    """Run a command in this process, with the session that all tests share: to start Spark takes longest by far."""
    for name, value in sold.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(viewing.session, "start", lambda *_: sold.spark)
    monkeypatch.setattr(type(sold.spark), "stop", lambda _: None)

    def done(*words: str) -> Done:
        with pytest.raises(SystemExit) as ended:
            cli.main(["-C", str(PROJECT), "-t", "test", *words])
        out, err = capfd.readouterr()
        return Done(int(ended.value.code or 0), out, err)

    return done


def answered(call: Call, *words: str) -> list[dict[str, Any]]:
    done = call(*words, "--json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.long
def test_query_that_is_refused_runs_on_spark(sold: Stage) -> None:
    text = f"select count(*) as n, percentile_approx(total, 0.5) as middle from {TOTALS};"
    refused = sold.call("sql", text)
    assert refused.returncode == 2 and "1:23: not-known-to-agree: percentile_approx()" in refused.stderr
    assert answered(sold.call, "sql", text, "--spark") == [{"n": 3, "middle": 2500}]


def test_condition_that_is_refused_runs_on_spark(call: Call) -> None:
    where = ("--where", "total > 10 and soundex(product) = soundex(product)")
    refused = call("show", TOTALS, *where)
    assert refused.returncode == 2 and "`headrace show --spark`" in refused.stderr
    assert [row["product"] for row in answered(call, "show", TOTALS, *where, "--spark")] == ["cup", "pen"]
    assert [row["product"] for row in answered(call, "show", "silver.sales", "--where", "value = 5")] == ["tea"]
    assert [row["total"] for row in answered(call, "show", TOTALS, "--key", "tea", "--spark")] == [5]
    assert [row["product"] for row in answered(call, "show", TOTALS, "--limit", "2", "--spark")] == ["cup", "pen"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sql", "select nope from silver.sales_totals"), "nope"),
        (("sql", "select * from csv.`/etc/passwd`"), "reads no files"),
        (("show", TOTALS, "--where", "total >"), "not a SQL condition"),
        (("show", TOTALS, "--where", "reflect('java.lang.System', 'getenv', 'HOME') = 'x'"), "reflect"),
        (("show", "silver.sales", "--where", "reflect('java.lang.System', 'getenv', 'HOME') = 'x'"), "reflect"),
        (("show", TOTALS, "--history", "tea"), "--history"),
    ],
)
def test_mistake_is_reported_without_a_traceback(call: Call, words: tuple[str, ...], message: str) -> None:
    done = call(*words, "--spark")
    assert done.returncode in (2, 3) and message in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""

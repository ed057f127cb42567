"""What is known of the JVM that started this Python, without a JVM."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark import SparkContext

from headrace.spark import parent, session


class Jvm:
    """A JVM with a process and a command line."""

    def __init__(self, pid: int, command: str) -> None:
        process = SimpleNamespace(current=lambda: SimpleNamespace(pid=lambda: pid))
        setattr(self, "java.lang.ProcessHandle", process)
        setattr(self, "java.lang.System", SimpleNamespace(getProperty=lambda _: command))


SUBMITTED = f"{parent._SUBMIT} --master spark://master:7077 run.py"


def test_jvm_of_spark_submit_is_known() -> None:
    assert parent.pid_of(Jvm(os.getppid(), SUBMITTED)) == os.getppid()


@pytest.mark.parametrize(("pid", "command"), [(os.getppid(), "com.platform.Driver"), (1_000_000, SUBMITTED)])
def test_jvm_of_another_program_or_process_is_let_alone(pid: int, command: str) -> None:
    assert parent.pid_of(Jvm(pid, command)) is None


def test_jvm_that_answers_nothing_is_let_alone() -> None:
    class Closed:
        def __getattr__(self, name: str) -> Any:
            raise Py4JError(f"{name} is not allowed")

    assert parent.pid_of(Closed()) is None


def test_nothing_is_started_without_spark_submit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(parent.GATEWAY, raising=False)
    monkeypatch.setattr(SparkContext, "_ensure_initialized", lambda: pytest.fail("a JVM is started"))
    parent.pass_signals_on()


def test_driver_whose_jvm_has_ended_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    jvm = Jvm(os.getppid(), SUBMITTED)
    spark: Any = SimpleNamespace(_jvm=jvm, sparkContext=SimpleNamespace(_gateway=SimpleNamespace()))
    assert session.ended(spark) is None
    monkeypatch.setattr(os, "getppid", lambda: 1)
    assert session.ended(spark) == "Spark's JVM ended; the next run continues from what is committed"

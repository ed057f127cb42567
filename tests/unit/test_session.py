"""The start of Spark's JVM where it cannot start: no JVM is started here."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from py4j import protocol as proto
from py4j.java_gateway import GatewayClient
from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from headrace.errors import EnvironmentFault
from headrace.project.model import Target
from headrace.spark import session, small_batches
from headrace.spark.jobs.batches import JobBatches
from headrace.store.paths import path_of

EXITED = PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})


class Refused:
    """An exception of Java's."""

    _target_id = "o1"

    def __str__(self) -> str:
        return "org.apache.spark.SparkException: Could not parse Master URL: 'x'"

    class _gateway_client:
        @staticmethod
        def send_command(_: str) -> str:
            raise Py4JNetworkError


def java_home(folder: Path, version: str) -> Path:
    """Make a JAVA_HOME of a version that runs nothing."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return folder


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """What the start of Spark fails with; without any there is no start."""
    errors: list[Exception] = []

    def start(_: object) -> None:
        raise errors.pop(0)

    monkeypatch.setattr(SparkContext, "getOrCreate", start)
    monkeypatch.setattr(session, "resolve", lambda name: ())
    for variable in ("SPARK_ENV_LOADED", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("TZ", "SPARK_LAUNCHER_OPTS"):
        monkeypatch.setenv(variable, "")  # set by a start
    return errors


def refusal(tmp_path: Path) -> str:
    with pytest.raises(EnvironmentFault) as caught:
        session.start(Target("local", tmp_path))
    return str(caught.value)


def test_java_of_another_version_is_reported(
    tmp_path: Path, failing: list[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path, "11.0.2")))
    failing.append(EXITED)
    assert "is Java 11, which Spark 4.2 does not run on" in refusal(tmp_path)


def test_jvm_that_ends_on_right_java_is_reported(
    tmp_path: Path, failing: list[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path, "17.0.15")))
    failing.append(EXITED)
    assert "does not start on" in refusal(tmp_path)


@pytest.mark.parametrize("variables", [{"JAVA_HOME": "/nope"}, {"PATH": "/nope"}])
def test_missing_java_is_reported_before_the_start(
    tmp_path: Path, failing: list[Exception], monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert "Install Java 17 or 21" in refusal(tmp_path)


def test_start_does_not_ask_for_the_version(
    tmp_path: Path, failing: list[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session.java, "find_java", lambda: pytest.fail("asked"))
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path, "17.0.15")))
    failing.append(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        session.start(Target("local", tmp_path))


def test_what_spark_refuses_is_reported(
    tmp_path: Path, failing: list[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path, "17.0.15")))
    failing.append(Py4JJavaError("", Refused()))
    assert "Could not parse Master URL: 'x'" in refusal(tmp_path)


@pytest.mark.parametrize(("outside", "enabled"), [(False, "false"), (True, None)])
def test_ui_is_off_only_where_headrace_starts_the_jvm(outside: bool, enabled: str | None) -> None:
    assert session._defaults(outside).get("spark.ui.enabled") == enabled


class Context:
    """A SparkContext that remembers the descriptions of its jobs."""

    def __init__(self, ui: str | None) -> None:
        self.uiWebUrl = ui
        self.descriptions: list[str] = []

    def getLocalProperty(self, name: str) -> str | None:
        return "shipping" if name == "spark.scheduler.pool" else None

    def setJobDescription(self, text: str) -> None:
        self.descriptions.append(text)


@pytest.mark.parametrize(("ui", "descriptions"), [("http://driver:4040", ["shipping batch 7"]), (None, [])])
def test_batch_is_described_where_there_is_a_ui(
    ui: str | None, descriptions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_batches, "tune", lambda session, rows: None)
    context = Context(ui)
    conf = SimpleNamespace(get=lambda name, default: default, set=lambda name, value: None)
    JobBatches(cast(SparkSession, SimpleNamespace(sparkContext=context, conf=conf))).begin(7, 1)
    assert context.descriptions == descriptions


def test_session_is_set_up_for_jobs_once() -> None:
    settings = {"spark.sql.optimizer.excludedRules": "a.Rule"}
    conf = SimpleNamespace(get=lambda name, default: settings.get(name, default), set=settings.__setitem__)
    found = SimpleNamespace(sparkContext=Context(None), conf=conf)
    for _ in range(2):
        JobBatches(cast(SparkSession, found))
    (rules,) = settings.values()
    assert rules.split(",")[0] == "a.Rule" and rules.count("ConvertToLocalRelation") == 1


def test_store_has_its_jars_and_its_keys_are_not_on_the_command_line(
    tmp_path: Path, failing: list[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: dict[str, str] = {}
    fetched: list[str] = []

    def resolve(name: str) -> tuple[Path, ...]:
        fetched.append(name)
        return (Path(f"/{name}.jar"),)

    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path, "17.0.15")))
    monkeypatch.setattr(session, "resolve", resolve)
    monkeypatch.setattr(SparkContext, "_ensure_initialized", lambda conf: launched.update(conf.getAll()))
    failing.append(ZeroDivisionError())
    keys = {"aws_access_key_id": "id", "aws_secret_access_key": "s3cret"}
    with pytest.raises(ZeroDivisionError):
        session.start(Target("prod", tmp_path, path_of("s3://lake/shop", keys)))
    assert {*fetched} == {"spark", "s3"}
    assert launched["spark.driver.extraClassPath"] == "/spark.jar:/s3.jar"
    assert "s3cret" not in str(launched)
    assert session._store_confs(Target("local", tmp_path)) == {}


def test_command_line_of_the_jvm_has_no_secret(tmp_path: Path) -> None:
    confs = {"spark.hadoop.fs.s3a.secret.key": "s3cret", "spark.harmless": "s3cret", "spark.driver.memory": "1g"}
    target = Target("prod", tmp_path, spark_conf=confs)
    assert session._shown(target, confs) == [("spark.driver.memory", "1g")]


@pytest.mark.parametrize(("code", "words"), [(3, "out of memory"), (-9, "killed by signal 9"), (1, "exit code 1")])
def test_end_of_the_jvm_is_told(code: int, words: str) -> None:
    process = SimpleNamespace(poll=lambda: code)
    spark = SimpleNamespace(sparkContext=SimpleNamespace(_gateway=SimpleNamespace(proc=process)))
    assert words in str(session.ended(cast(SparkSession, spark)))


def test_options_of_the_jvm_stay_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The launcher splits them at blanks, and takes quotes and backslashes for its own."""
    archive = '-XX:SharedArchiveFile=/it\'s a "home" of C:\\x/\u00e4 (1).jsa'
    monkeypatch.setattr(session.classes.Archive, "options", lambda _: (archive,))
    monkeypatch.setattr(session, "resolve", lambda name: ())
    monkeypatch.setenv("HEADRACE_SPARK_LOG", "")
    log = tmp_path / 'it\'s a "folder" #1' / "spark.log"
    options = session._launch_confs(Target("local", tmp_path), log)["spark.driver.extraJavaOptions"]
    assert shlex.split(options)[-1] == archive
    assert "folder" not in options and os.environ["HEADRACE_SPARK_LOG"] == str(log)


class Cut:
    """A connection to a JVM that ends before it answers."""

    def send_command(self, _: str) -> str:
        raise Py4JNetworkError("Error while sending or receiving", when=proto.ERROR_ON_RECEIVE)

    def close(self, _: bool) -> None:
        pass


def test_py4j_prints_nothing_when_its_jvm_ends(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client = GatewayClient()
    monkeypatch.setattr(client, "_get_connection", Cut)
    session.quieten()
    assert (client.send_command("x", retry=False), caplog.records) == (proto.ERROR, [])

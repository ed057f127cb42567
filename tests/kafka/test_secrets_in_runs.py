"""No secret comes out of a run: not in success, in a failing model, or in the crash of its JVM."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.kafka.cluster import Cluster
from tests.kafka.runner import Runner, processes
from tests.kafka.stage import command, environ
from tests.waiting import wait_for

pytestmark = pytest.mark.kafka

CANARY = "canary-7f3a"
JAAS = 'org.apache.kafka.common.security.scram.ScramLoginModule required username=ana password="{}";'
SECRETS = {
    **{name: f"{CANARY}-{name}" for name in ("KAFKA", "KEY", "SMTP", "TOKEN", "S3A", "PLAIN", "UNUSED")},
    "JAAS": JAAS.format(f"{CANARY}-jaas"),
}
FILES = {
    "manifest.yml": "name: quiet\nmodels: {+materialized: append}\n",
    "conf/test.yml": """
data_dir: data
kafka:
  create_topics: true
  options:
    sasl.mechanism: SCRAM-SHA-512
    sasl.password: env:KAFKA
    sasl.jaas.config: env:JAAS
    ssl.key.password: env:KEY
mail: {host: h, sender: a@b, username: ana, password: env:SMTP}
http: {token: env:TOKEN}
spark:
  compiler: quick
  small_batches: jobs
  conf:
    spark.eventLog.enabled: true
    spark.eventLog.dir: events
    spark.hadoop.fs.s3a.secret.key: env:S3A
    spark.hadoop.headrace.test.password: env:PLAIN
""",
    "sql/bronze/things.yml": "landing: things\ntopics:\n  things:\n    topic: quiet-things\n    schema: {id: string}\n",
    "sql/gold/things/kept.sql": """/*
Things, one row per thing.

once_per: id
publish: {topic: quiet-kept, key: id, value: {id: id}}
*/
select data.id as id, _arrival
from stream bronze.things
""",
    "sql/gold/things/broken.sql": """/*
Fails at its first row, one row per thing.

query: broken
once_per: id
*/
select data.id as id, cast(data.id as int) as number, _arrival
from stream bronze.things
""",
}


def holding(folder: Path) -> list[str]:
    """The files below a folder in which a canary stands."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return [str(file.relative_to(folder)) for file in files if CANARY.encode() in file.read_bytes()]


def test_run_shows_none(bootstrap: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    for name, text in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text.replace("dir: events", f"dir: {tmp_path}/events"), "utf-8")
    (tmp_path / "events").mkdir()
    cluster = Cluster(bootstrap)
    cluster.create({"quiet-things": 1})
    cluster.send([("quiet-things", "a", json.dumps({"id": "a"}))])
    known = {**environ(bootstrap), **SECRETS}
    runner = Runner(command("run", project=project), known, tmp_path, project / "data")
    try:
        runner.heard("(retry|failed) .*broken")
        wait_for(lambda: cluster.committed("quiet-kept") != [], "the published row")
        (jvm,) = processes(project / "data")
        command_line = " ".join(jvm.cmdline())
        jvm.send_signal(signal.SIGSEGV)
        assert runner.exit_code() == 1
    finally:
        runner.close()
    crash_reports = [*tmp_path.rglob("hs_err*.log")]
    assert len(crash_reports) == 1 and [*(tmp_path / "events").iterdir()]
    assert CANARY not in runner.output + command_line
    assert holding(tmp_path) == []

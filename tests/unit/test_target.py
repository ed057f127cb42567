"""conf/<target>.yml."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import InvalidProject, UsageError
from headrace.project import target


@pytest.fixture
def conf(tmp_path: Path):
    def read(text: str, **environ: str):
        (tmp_path / "conf").mkdir(exist_ok=True)
        (tmp_path / "conf" / "local.yml").write_text(text, encoding="utf-8")
        return target.read(tmp_path, "local", environ)

    return read


def findings(conf, text: str, **environ: str) -> list[tuple[int, int, str]]:
    with pytest.raises(InvalidProject) as caught:
        conf(text, **environ)
    return [(found.place.line, found.place.column, found.code) for found in caught.value.findings]


def test_values_are_read(conf, tmp_path):
    read = conf(
        "kafka: {bootstrap: 'h:1', create_topics: true, options: {session.timeout.ms: 6000, enable.x: true}}\n"
        "data_dir: data\nspark: {master: 'local[2]', conf: {a.b: 1}}\n"
        "trigger: {ingest: 500ms, max_rows: 7}\nvars: {x: [1]}"
    )
    assert read.kafka.bootstrap == "h:1"
    assert read.kafka.create_topics
    assert read.kafka.options == {"session.timeout.ms": "6000", "enable.x": "true"}
    assert read.data_dir == tmp_path / "data"
    assert (read.spark_master, read.spark_conf) == ("local[2]", {"a.b": "1"})
    assert (read.ingest_interval, read.max_rows, read.vars) == (0.5, 7, {"x": [1]})


def test_empty_file_gives_the_defaults(conf, tmp_path):
    read = conf("")
    assert read.kafka.bootstrap == "embedded"
    assert read.data_dir == tmp_path / ".headrace" / "local"


@pytest.mark.parametrize(("text", "seconds"), [("1s", 1.0), ("500ms", 0.5), ("2m", 120.0), ("1.5h", 5400.0)])
def test_durations_have_units(conf, text, seconds):
    assert conf(f"trigger: {{ingest: {text}}}").ingest_interval == seconds


def test_environment_overrides_the_file(conf):
    read = conf(
        "kafka: {bootstrap: env:NOT_SET}\ndata_dir: here",
        HEADRACE_KAFKA_BOOTSTRAP="b:9092",
        HEADRACE_DATA_DIR="/elsewhere",
    )
    assert read.kafka.bootstrap == "b:9092"
    assert read.data_dir == Path("/elsewhere")


def test_references_are_resolved(conf, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n", encoding="utf-8")
    read = conf(
        f"kafka: {{options: {{a: env:USER_NAME, b: file:{secret}}}}}\ntrigger: {{max_rows: env:ROWS}}",
        USER_NAME="u",
        ROWS="5",
    )
    assert read.kafka.options == {"a": "u", "b": "s3cret"}
    assert read.max_rows == 5


def test_file_uri_stays_a_uri(conf):
    assert conf("spark: {conf: {dir: 'file:///events'}}").spark_conf == {"dir": "file:///events"}


def test_secrets_do_not_show_in_repr(conf):
    assert "s3cret" not in repr(conf("kafka: {options: {sasl.password: env:PASSWORD}}", PASSWORD="s3cret"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kafka: {options: {a: env:NOT_SET}}", (1, 22, "missing-reference")),
        ("kafka: {options: {a: file:/no/such/file}}", (1, 22, "missing-reference")),
        ("trigger: {ingest: 5}", (1, 19, "bad-value")),
        ("trigger: {max_rows: 0}", (1, 21, "bad-value")),
        ("trigger: {ingets: 5s}", (1, 11, "unknown-key")),
        ("kafka: here", (1, 8, "bad-value")),
        ("- a", (1, 1, "bad-value")),
    ],
)
def test_broken_target_has_findings(conf, text, expected):
    assert findings(conf, text) == [expected]


def test_unknown_target_lists_the_others(conf, tmp_path):
    conf("")
    (tmp_path / "conf" / "prod.yml").touch()
    with pytest.raises(UsageError, match=r"Did you mean local\? Targets here: local, prod"):
        target.read(tmp_path, "locall", {})

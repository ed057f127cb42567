"""A text runs as written: Spark substitutes no variables of the process in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.spark.session import child

pytestmark = pytest.mark.spark

FILES = {
    "manifest.yml": "name: plain\nmodels: {+materialized: append}\n",
    "conf/local.yml": "data_dir: data\nspark: {conf: {spark.sql.variable.substitute: 'true'}}\n",
    "sql/bronze/things.yml": """
landing: things
topics:
  things:
    schema: {id: string}
    reject: {is_secret: "id = '${env:SECRET}'"}
""",
    "macros/told.sql": "create temporary function told() returns string return '${env:SECRET}'",
    "sql/gold/things/told.sql": """/*
What a text holds, one row per thing.
*/
select data.id, '${env:SECRET}' as written, told() as called, '${system:user.home}' as home, _arrival
from stream bronze.things
""",
    "tests/models/told/as_written.yml": """
model: gold.told
given:
  - things: [{key: a, value: {id: hush}}, {key: b, value: {id: '${env:SECRET}'}}]
expect:
  rows: [{id: hush, written: '${env:SECRET}', called: '${env:SECRET}', home: '${system:user.home}'}]
""",
}


@pytest.mark.parametrize("text", ["${env:PATH}", "${system:user.home}", "${spark.app.name}", "${PATH}"])
def test_variables_stay_text_in_every_session(spark, text):
    found = [session.sql(f"select '{text}' as a").first().a for session in (spark, child(spark, "plain"))]
    assert found == [text, text]


@pytest.mark.long
def test_no_target_turns_variables_on(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    command = [sys.executable, "-m", "headrace", "-C", str(tmp_path), "test"]
    done = subprocess.run(command, env={**os.environ, "SECRET": "hush"}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr

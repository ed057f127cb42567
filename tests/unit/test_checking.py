"""The command check: what it prints, how it looks on a terminal, how often it checks, and what it must not import."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from headrace.commands import checking
from headrace.commands.workspace import Workspace
from headrace.errors import Finding, Place
from headrace.project import loader, report
from tests.unit.test_cli import ended

OPEN = "sql/silver/shipping/open_orders.sql"
READY = "sql/gold/shipping/shipment_ready.sql"
ORDERS = "sql/silver/shipping/orders.sql"
HEAVY = (
    "confluent_kafka",
    "deltalake",
    "pyspark",
    "structlog",
    "jinja2",
    "pygments",
    "watchfiles",
    "psutil",
    "fastapi",
)


def test_findings_come_in_the_order_of_the_files(project_files, capsys):
    project_files.edit(READY, ":limit", ":limits")
    project_files.edit(READY, "once_per:", "tags: x\nlog: nothing\nonce_per:")
    project_files.edit(ORDERS, "data.id", "data.idd")
    assert ended("-C", str(project_files.root), "check", "--offline", "--json") == 3
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["path"], each["line"]) for each in found] == [(READY, 5), (READY, 11), (ORDERS, 4)]


def test_caret_is_coloured_on_a_terminal_only(project_files):
    found = [Finding(Place(ORDERS, 4, 8), "unknown-column", "no")]
    plain, coloured = (report.render(found, project_files.root, colour) for colour in (False, True))
    assert ("\x1b[" in plain, "\x1b[31munknown-column\x1b[0m" in coloured) == (False, True)
    assert plain.splitlines()[2] == " " * (4 + 7) + "^"


def test_watch_checks_again_after_each_save(project_files, capsys):
    def saves() -> Iterator[None]:
        project_files.edit(READY, ":limit", ":limits")
        yield None
        project_files.write("manifest.yml", "name: [")
        yield None
        (project_files.root / "manifest.yml").unlink()
        yield None

    code = checking.watch(Workspace(project_files.root, "local"), offline=True, as_json=False, saves=saves())
    said = [line for line in capsys.readouterr().err.splitlines() if not line.startswith((" ", "sql/", "manifest.yml"))]
    assert (code, said[:3]) == (
        2,
        ["3 models, no findings", *["headrace: 1 finding, nothing was started"] * 2],
    )


def test_save_of_a_file_is_noticed(project_files):
    watched = checking._saves(project_files.root)
    pending = checking._and_now(watched)
    next(pending)
    process = subprocess.Popen(
        [sys.executable, "-c", f"import time\nfor n in range(400):\n open({str(project_files.root / READY)!r}, 'a')"
         ".write('-- ' + str(n) + chr(10)); time.sleep(0.1)"]
    )  # fmt: skip
    try:
        assert next(pending)
    finally:
        process.kill()
        process.wait()


def test_sound_models_are_those_that_read_nothing_broken(project_files):
    project_files.edit(OPEN, "upsert", "upsret")
    project_files.write("sql/gold/shipping/more.sql", "/*\nOne row.\n*/\nselect order_id from stream silver.orders")
    surveyed = loader.survey(project_files.root, "local")
    assert surveyed.sound is not None
    assert [model.table for model in surveyed.sound.models] == ["gold.more", "silver.orders"]


def test_model_of_a_broken_macro_is_not_sound(project_files):
    project_files.write("macros/twice.sql", "create temporary function twice(x int) returns int return once(x) * 2")
    project_files.write("macros/once.sql", "create function once(x int) returns int return x")
    project_files.edit(READY, "item_count >", "twice(item_count) >")
    surveyed = loader.survey(project_files.root, "local")
    assert surveyed.sound is not None
    assert ([*surveyed.sound.macros], READY in [model.path for model in surveyed.sound.models]) == ([], False)


def test_project_with_a_cycle_has_no_sound_part(project_files):
    project_files.edit(
        ORDERS, "from stream bronze.orders", "from stream bronze.orders join silver.orders as o using (key)"
    )
    assert loader.survey(project_files.root, "local").sound is None


@pytest.mark.parametrize("words", [["check", "--offline"], ["schemas", "--help"]])
def test_quick_commands_import_nothing_heavy(project_files, words):
    program = (
        "import sys; from headrace import cli\n"
        f"try: cli.main({['-C', str(project_files.root), *words]!r})\n"
        f"except SystemExit: print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stderr.splitlines()[-1] == "[]"

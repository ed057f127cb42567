"""The README's commands, run as they stand there, in a copy of the project."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from headrace.demo.script import Script, script
from tests.kafka.runner import Runner, processes
from tests.waiting import wait_for

pytestmark = pytest.mark.readme

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
TYPED = re.findall(r"^\$ (.*)$", README, flags=re.MULTILINE)
PARTS = ("Makefile", "conf", "macros", "manifest.yml", "requirements.lock", "sql")
PATIENCE = 600
STOPS_WITHIN = 30.0


class Reader:
    """Somebody who types the README's commands in a fresh checkout."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # A make that runs these tests passes its options to its children, which would print them.
        apart = ("HEADRACE_", "MAKE", "MFLAGS")
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith(apart)}
        self.environ["PYTHONPATH"] = str(ROOT / "jobs")
        for part in PARTS:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy2
            copy(ROOT / part, folder / part)
        (folder / ".venv").symlink_to(sys.prefix)  # set up already, as for whoever types `make demo` again
        os.utime(folder / "requirements.lock", (0, 0))  # older than the set-up, or make would clear the tests' own

    def words(self, command: str) -> list[str]:
        """A command of the README, for the interpreter of the tests."""
        assert command in TYPED
        program, *rest = shlex.split(command)
        return [program, *rest] if program == "make" else [sys.executable, "-m", "headrace", *rest]

    def types(self, command: str) -> str:
        """Run a command to its end and return what it prints."""
        return self.run(command).stdout

    def run(self, command: str, exit_code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, with the exit code that is due."""
        words, nothing = self.words(command), subprocess.DEVNULL
        done = subprocess.run(
            words, cwd=self.folder, env=self.environ, stdin=nothing, capture_output=True, text=True, timeout=PATIENCE
        )
        assert done.returncode == exit_code, done.stderr
        return done


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    return Reader(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def output(reader: Reader) -> str:
    """What the demo prints."""
    return reader.types("make demo")


@pytest.fixture(scope="module")
def story(output: str) -> Script:
    """What the demo has sent, and how it must end."""
    found = re.search(r"plain-(\w+)", output)
    assert found
    return script(found[1], datetime.now(timezone.utc))


def part(output: str, heading: str) -> list[list[str]]:
    """The words of each line under a heading of the demo."""
    _, _, rest = output.partition(f"{heading}\n")
    lines = re.split(r"^(?:topic|table) ", rest, flags=re.MULTILINE)[0].splitlines()
    return [line.split() for line in lines if line.strip()]


def test_demo_prints_what_is_due(output: str, story: Script) -> None:
    shipped = [words[2] for words in part(output, "topic shipping")]
    notified = [words[2] for words in part(output, "topic notifications-events-v1")]
    assert sorted(shipped) == sorted(story.shipped)
    assert sorted(notified) == sorted(product for product, _, _ in story.notifications)


def test_demo_shows_the_tables(output: str, story: Script) -> None:
    ready = [words[0] for words in part(output, "table gold.shipment_ready")[2:]]
    news = [words[0] for words in part(output, "table gold.sales_notifications")[2:]]
    assert sorted(ready) == sorted(story.shipped)
    assert sorted(news) == sorted(product for product, _, _ in story.notifications)


def test_table_after_the_demo_has_what_was_shipped(reader: Reader, story: Script) -> None:
    rows = reader.types("headrace show gold.shipment_ready").splitlines()[2:]
    assert sorted(row.split()[0] for row in rows) == sorted(story.shipped)


def test_queries_after_the_demo_show_its_leftovers(reader: Reader, story: Script) -> None:
    waiting, letters = (reader.types(command).splitlines()[2:] for command in TYPED if "headrace sql" in command)
    assert ([line.split()[0] for line in waiting], len(letters)) == (list(story.waiting), story.rejected)


def test_model_is_added_checked_and_run(reader: Reader, story: Script) -> None:
    model = reader.folder / "sql/gold/sales/big_sales.sql"
    text = re.findall(r"^```sql\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)[1]
    model.write_text(text.replace("stream silver.sales\n", "stream silver.sale\n"), "utf-8")
    assert "Did you mean silver.sales?" in reader.run("headrace check --offline", exit_code=3).stderr
    model.write_text(text, "utf-8")
    reader.types("headrace check --offline")
    reader.types("headrace run --select big_sales --available-now")
    rows = reader.types("headrace show gold.big_sales").splitlines()[2:]
    assert sorted(row.split()[1] for row in rows) == ["1000", "1500", "2000"]


@pytest.fixture(scope="module")
def running(reader: Reader) -> Iterator[Runner]:
    """The runner in its own terminal."""
    command = reader.words("headrace run --select shipping")
    runner = Runner(command, reader.environ, reader.folder, reader.folder / ".headrace")
    try:
        runner.heard(" started ")
        yield runner
    finally:
        runner.close()


def test_order_by_hand_ships(reader: Reader, running: Runner) -> None:
    for command in TYPED:
        if command.startswith("headrace produce"):
            reader.types(command)
    running.heard("published .*query=publish_shipment_ready")
    with subprocess.Popen(
        reader.words("headrace tail shipping"), cwd=reader.folder, env=reader.environ, stdout=subprocess.PIPE, text=True
    ) as tail:
        end = threading.Timer(PATIENCE, tail.kill)
        end.start()
        assert tail.stdout is not None
        assert "a" in (line.split()[2] for line in tail.stdout)
        end.cancel()
        tail.send_signal(signal.SIGINT)


def test_ctrl_c_ends_the_runner_cleanly(reader: Reader, running: Runner) -> None:
    assert (running.stop(signal.SIGINT), running.count(" stopped$")) == (130, 1)
    wait_for(lambda: not processes(reader.folder / ".headrace"), "the end of the JVM", STOPS_WITHIN)


@pytest.mark.parametrize("command", [command for command in TYPED if command.startswith("make ")])
def test_make_knows_its_targets(command: str) -> None:
    subprocess.run([*command.split(), "--dry-run"], cwd=ROOT, check=True, capture_output=True)


def test_every_command_is_run_here() -> None:
    tested = Path(__file__).read_text("utf-8")
    grouped = ("make ", "headrace sql ", "headrace produce ", ". .venv/bin/activate")
    assert [command for command in TYPED if not command.startswith(grouped) and f'"{command}"' not in tested] == []

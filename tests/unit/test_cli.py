"""What the command line makes of words that it does not understand, of a broken project and of other failures."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys

import pytest
from confluent_kafka import KafkaError, KafkaException

from headrace import cli
from headrace.commands import upkeep
from headrace.errors import ExitCode

ENVIRON = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": ""}


def ended(*words: str) -> int:
    with pytest.raises(SystemExit) as caught:
        cli.main([*words])
    return int(caught.value.code or 0)


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> int:
    """The exit code of a command that fails in a way."""

    def fail(workspace: object) -> int:
        raise error

    monkeypatch.setattr(upkeep, "setup", fail)
    return ended("setup")


def versioned(stdout: int) -> tuple[int, str]:
    """The exit code and stderr of a process that says its version there."""
    try:
        command = [sys.executable, "-m", "headrace", "--version"]
        done = subprocess.run(command, env=ENVIRON, stdout=stdout, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(stdout)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("nope",),
        ("ls", "--nope"),
        ("show",),
        ("produce", "shop", "ship"),
        ("tail", "x", "--limit", "many"),
        ("tail", "gold.x", "--limit", "-1"),
        ("tail", "gold.x", "--limit", str(10**20)),
        ("tail", "gold.x", "--timeout", "nan"),
        ("show", "gold.x", "--limit", "0"),
        ("mail", "--limit", "0"),
        ("mail", "--timeout", "-1"),
        ("produce", "sales", "--count", "-1"),
        ("produce", "clicks", "--rate", "0"),
        ("produce", "calls", "--rate", "nan"),
        ("produce", "shop", "--rate", "-5"),
        ("produce", "shipping", "demo", "--orders", "-1"),
        ("produce", "shipping", "manufacturer", "--delay", "-1"),
        ("upgrade", "test", "gold.x", "--after", "0"),
        ("rebuild", "gold.x", "--swap", "--keep", "inf"),
        ("-t",),
        ("broker", "nope"),
    ],
)
def test_misuse_is_one_line_and_code_2(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code = ended(*words)
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n"), err.startswith("headrace: ")) == (ExitCode.USAGE, "", 1, True)


@pytest.mark.parametrize("words", [(), ("broker",), ("produce", "shipping")])
def test_no_command_gets_the_help(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code = ended(*words)
    assert (code, capsys.readouterr().err.startswith("Usage: headrace")) == (ExitCode.USAGE, True)


def test_wrong_choice_names_the_choices(capsys):
    code = ended("export", "catalog", "--for", "nope")
    words = "headrace: Invalid value for '--for': 'nope' is not one of 'hive', 'unity', 'glue'; see --help\n"
    assert (code, capsys.readouterr().err) == (ExitCode.USAGE, words)


def test_demo_of_another_project_is_refused(project_files, capsys):
    code = ended("-C", str(project_files.root), "demo")
    assert (code, "has no sales\n" in capsys.readouterr().err) == (ExitCode.USAGE, True)
    assert not (project_files.root / "data").exists()


@pytest.mark.parametrize("words", [("--version",), ("ls", "--help")])
def test_questions_end_well(words: tuple[str, ...]) -> None:
    assert ended(*words) == ExitCode.OK


@pytest.mark.parametrize("option", [("-C", "{}"), ("-C{}",), ("--project", "{}"), ("--project={}",)])
def test_finding_shows_its_line_from_anywhere(option, project_files, capsys):
    project_files.edit("sql/silver/shipping/orders.sql", "bronze.orders", "bronze.order")
    code = ended(*(word.format(project_files.root) for word in option), "check", "--offline")
    assert (code, "from stream bronze.order\n" in capsys.readouterr().err) == (ExitCode.INVALID, True)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/d/x"), "headrace: /d/x: No space left on device; free "),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "/proc/x"), "headrace: /proc/x: No such file"),
        (KafkaException(KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)), "headrace: Kafka says: Broker"),
    ],
    ids=str,
)
def test_unforeseen_failure_is_one_line(error, message, monkeypatch, capsys):
    code = failing(monkeypatch, error)
    stderr = capsys.readouterr().err
    assert (code, stderr.count("\n"), stderr.startswith(message)) == (ExitCode.ENVIRONMENT, 1, True)


def test_error_of_ours_has_its_traceback(monkeypatch, capsys):
    code = failing(monkeypatch, ZeroDivisionError("of ours"))
    stderr = capsys.readouterr().err
    assert (code, stderr.splitlines()[-1]) == (ExitCode.FAILED, "ZeroDivisionError: of ours")
    assert stderr.startswith("Traceback")


def test_gone_reader_is_no_failure():
    reader, writer = os.pipe()
    os.close(reader)
    assert versioned(writer) == (ExitCode.OK, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a file that is always full")
def test_full_output_is_reported():
    code, stderr = versioned(os.open("/dev/full", os.O_WRONLY))
    assert (code, stderr.count("\n"), stderr.startswith("headrace: No space left")) == (ExitCode.ENVIRONMENT, 1, True)


def test_plan_costs_no_spark_and_no_arrow():
    look = (
        "import sys; from headrace.commands.edits import planning; "
        "print({'pyspark', 'pyarrow', 'deltalake', 'confluent_kafka'} & {*sys.modules})"
    )
    assert subprocess.run([sys.executable, "-c", look], env=ENVIRON, capture_output=True, text=True).stdout == "set()\n"


def test_failure_costs_no_kafka_client():
    look = (
        "import sys; from headrace import faults; from headrace.cli import entry; faults.describe(OSError()); "
        "print('confluent_kafka' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", look], env=ENVIRON, capture_output=True, text=True).stdout == "False\n"


def test_message_does_nothing_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended("-t", "\x1b]0;title\x07", "ls") == ExitCode.USAGE
    assert "no target \\x1b]0;title\\x07:" in capsys.readouterr().err


def test_argument_that_is_no_text_is_misuse(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended("show", "silver.open_orders", "--key", "\udcff") == ExitCode.USAGE
    assert "no text" in capsys.readouterr().err


def test_character_that_the_terminal_lacks_is_written_as_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii"))
    assert ended("--version") == ExitCode.OK
    print(json.dumps("é😀", ensure_ascii=False), flush=True)
    assert json.loads(written.getvalue().splitlines()[-1]) == "é😀"


def test_interrupt_while_modules_load_is_quiet() -> None:
    script = (
        "import builtins, signal, sys; from headrace import cli; load = builtins.__import__\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background job ignores it
        "def loading(name, *rest, **named):\n"
        "    if name == 'typer': signal.raise_signal(signal.SIGINT)\n"
        "    return load(name, *rest, **named)\n"
        "builtins.__import__ = loading; cli.main(['ls'])"
    )
    done = subprocess.run([sys.executable, "-c", script], env=ENVIRON, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")

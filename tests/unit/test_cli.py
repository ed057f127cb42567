"""What the command line makes of words that it does not understand, and of a broken project."""

from __future__ import annotations

import pytest

from headrace import cli
from headrace.errors import ExitCode


def ended(*words: str) -> int:
    with pytest.raises(SystemExit) as caught:
        cli.main([*words])
    return int(caught.value.code or 0)


@pytest.mark.parametrize(
    "words",
    [
        ("nope",),
        ("ls", "--nope"),
        ("show",),
        ("produce", "shop", "ship"),
        ("tail", "x", "--limit", "many"),
        ("-t",),
        ("broker", "nope"),
    ],
)
def test_misuse_is_one_line_and_code_2(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code = ended(*words)
    said = capsys.readouterr()
    assert (code, said.out, said.err.count("\n"), said.err.startswith("headrace: ")) == (ExitCode.USAGE, "", 1, True)


@pytest.mark.parametrize("words", [(), ("broker",), ("produce", "shipping")])
def test_no_command_gets_the_help(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code = ended(*words)
    assert (code, capsys.readouterr().err.startswith("Usage: headrace")) == (ExitCode.USAGE, True)


@pytest.mark.parametrize("words", [("--version",), ("ls", "--help")])
def test_questions_end_well(words: tuple[str, ...]) -> None:
    assert ended(*words) == ExitCode.OK


@pytest.mark.parametrize("option", [("-C", "{}"), ("-C{}",), ("--project", "{}"), ("--project={}",)])
def test_finding_shows_its_line_from_anywhere(option, project_files, capsys):
    project_files.edit("sql/silver/shipping/orders.sql", "bronze.orders", "bronze.order")
    code = ended(*(word.format(project_files.root) for word in option), "check", "--offline")
    assert (code, "from stream bronze.order\n" in capsys.readouterr().err) == (ExitCode.INVALID, True)

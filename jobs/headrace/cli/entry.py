"""The way in: runs one command, and turns failures into exit codes and one line each."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from pathlib import Path

import typer

from headrace import faults
from headrace.cli.application import app
from headrace.errors import ExitCode, HeadraceError, InvalidProject

_OBJECTS = 100_000
"""New objects between two garbage collections: reading a project makes very many at once, and keeps them."""


def main(words: list[str] | None = None) -> None:
    """Run one command; every failure of the user's world is one line on stderr, without a traceback."""
    gc.set_threshold(_OBJECTS)
    try:
        code = _run(sys.argv[1:] if words is None else words)
        _write_out()
    except Exception as error:
        code = _unforeseen(error)
    with suppress(OSError):
        _write_out()
    sys.exit(code)


def _run(words: list[str]) -> int:
    """Run one command and tell what it has foreseen to fail."""
    command = typer.main.get_command(app)
    try:
        code = command.main(words, prog_name="headrace", standalone_mode=False)
    except InvalidProject as error:
        from headrace.commands import checking

        code = checking.report(error, _folder(words))
    except HeadraceError as error:
        _tell(f"headrace: {error}")
        code = error.exit_code
    except typer.TyperException as error:
        _tell(_misuse(error.format_message()))
        code = ExitCode.USAGE
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    return int(code) if isinstance(code, int) else ExitCode.OK


def _unforeseen(error: Exception) -> int:
    """Tell a failure of the user's world; one of ours keeps its traceback."""
    if isinstance(error, BrokenPipeError):
        return ExitCode.FAILED  # whoever would read of it has gone
    line = faults.describe(error)
    if line is None:
        raise error
    _tell(f"headrace: {line}")
    return ExitCode.ENVIRONMENT


def _tell(line: str) -> None:
    """Say why a command ends; where stderr cannot be written the exit code has to do."""
    with suppress(OSError):
        print(line, file=sys.stderr)


def _write_out() -> None:
    """Write what is printed to stdout, if there is one; that its reader has gone is no failure."""
    try:
        print(end="", flush=True)
    except OSError as error:
        # Python flushes stdout once more at exit, and would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


def submitted(words: list[str]) -> None:
    """Run as a Spark application: the words are those of `headrace run`, after -C and -t."""
    ours = [word for at, word in enumerate(words) if word in ("-C", "-t") or (at and words[at - 1] in ("-C", "-t"))]
    rest = words[len(ours) :]
    main([*ours, "run", *rest])


def _misuse(message: str) -> str:
    """What is wrong with the words of a command, in one line; a command without words gets its help."""
    return message if message.startswith("Usage:") else f"headrace: {message.rstrip('.')}; see --help"


def _folder(words: list[str]) -> Path:
    """The folder that -C names, else the current one: where findings' files are looked for."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word in ("-C", "--project"):
            return Path(following)
        if word.startswith("--project="):
            return Path(word.removeprefix("--project="))
        if word.startswith("-C"):
            return Path(word.removeprefix("-C"))
    return Path()

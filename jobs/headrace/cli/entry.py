"""The entry point: runs one command, and turns failures into exit codes and one line each."""

from __future__ import annotations

import atexit
import codecs
import gc
import io
import json
import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path

import typer

from headrace import faults
from headrace.cli.application import app
from headrace.errors import ExitCode, HeadraceError, InvalidProject, UsageError
from headrace.secrets import hidden
from headrace.terminal import printable_lines

_ESCAPED = "headrace.escaped"

_OBJECTS = 100_000
"""New objects between two garbage collections: reading a project makes very many at once, and keeps them."""


def main(arguments: list[str] | None = None) -> None:
    """Run one command; every failure outside our code is one line on stderr, without a traceback."""
    _write_any_character()
    gc.set_threshold(_OBJECTS)
    atexit.register(gc.freeze)  # or Python would look through all these objects, and free each, before it ends
    try:
        code = _run(sys.argv[1:] if arguments is None else arguments)
        _flush_stdout()
    except Exception as error:
        code = _unanticipated(error)
    with suppress(OSError):
        _flush_stdout()
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    """Run one command and report the failures that it anticipates."""
    command = typer.main.get_command(app)
    try:
        _refuse_bytes(arguments)
        code = command.main(arguments, prog_name="headrace", standalone_mode=False)
    except InvalidProject as error:
        from headrace.commands import checking

        code = checking.report(error, _folder(arguments))
    except HeadraceError as error:
        _print_error(f"headrace: {error}")
        code = error.exit_code
    except typer.TyperException as error:
        _print_error(_misuse(error.format_message()))
        code = ExitCode.USAGE
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    return int(code) if isinstance(code, int) else ExitCode.OK


def _refuse_bytes(arguments: list[str]) -> None:
    """Refuse arguments that are no text: SQL, keys and names go to programs that take text only."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            encoding = sys.getfilesystemencoding()
            message = f"the argument `{argument}` is no text in the encoding of this terminal, {encoding}"
            raise UsageError(f"{message}; set PYTHONUTF8=1 if it is UTF-8") from None


def _write_any_character() -> None:
    """Write a character that the encoding of a stream lacks as JSON escapes it, so that JSON stays JSON."""
    codecs.register_error(_ESCAPED, _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ESCAPED)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _unanticipated(error: Exception) -> int:
    """Report a failure outside our code; an error of ours keeps its traceback."""
    if isinstance(error, BrokenPipeError):
        return ExitCode.FAILED  # nobody is left to read it
    line = faults.describe(error)
    if line is None:
        _print_error("".join(traceback.format_exception(error)).rstrip())
        return ExitCode.FAILED
    _print_error(f"headrace: {line}")
    return ExitCode.ENVIRONMENT


def _print_error(line: str) -> None:
    """Print why a command ends, without secrets; if stderr cannot be written, the exit code must suffice."""
    with suppress(OSError):
        print(printable_lines(hidden(line)), file=sys.stderr)


def _flush_stdout() -> None:
    """Flush stdout, if there is one; a closed pipe is not a failure."""
    try:
        print(end="", flush=True)
    except OSError as error:
        # Python flushes stdout once more at exit, and would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


def submitted(arguments: list[str]) -> None:
    """Run as a Spark application: the arguments are those of `headrace run`, after -C and -t."""
    from headrace.spark import parent

    parent.pass_signals_on()
    ours = [
        argument
        for at, argument in enumerate(arguments)
        if argument in ("-C", "-t") or (at and arguments[at - 1] in ("-C", "-t"))
    ]
    rest = arguments[len(ours) :]
    main([*ours, "run", *rest])


def _misuse(message: str) -> str:
    """What is wrong with a command's arguments, in one line; a command without arguments gets its help."""
    if message.startswith("Usage:"):
        return message
    return f"headrace: {message.replace('Value error, ', '').rstrip('.')}; see --help"


def _folder(arguments: list[str]) -> Path:
    """The folder that -C names, else the current one: where findings' files are looked for."""
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if argument in ("-C", "--project"):
            return Path(following)
        if argument.startswith("--project="):
            return Path(argument.removeprefix("--project="))
        if argument.startswith("-C"):
            return Path(argument.removeprefix("-C"))
    return Path()

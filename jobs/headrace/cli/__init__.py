"""The command line: parses, calls the commands, prints, and turns failures into exit codes.

What it needs is imported within `main`: that takes a while, and Ctrl-C may come in it.
"""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit; every failure outside our code is one line on stderr, without a traceback."""
    try:
        from headrace.cli import entry

        entry.main(arguments)
    except KeyboardInterrupt:
        sys.exit(130)


def submitted(arguments: list[str]) -> None:
    """Run as a Spark application: the arguments are those of `headrace run`, after -C and -t."""
    from headrace.cli import entry

    entry.submitted(arguments)

"""The command line: parses, calls the commands, prints, and turns failures into exit codes."""

from headrace.cli.application import app
from headrace.cli.entry import main, submitted

__all__ = ["app", "main", "submitted"]

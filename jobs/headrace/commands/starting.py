"""The command init: a new project that runs and passes its test at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from headrace.commands import schemas
from headrace.errors import ExitCode, UsageError
from headrace.version import __version__

NAME = "my_project"
"""What the template calls the project."""

VERSION = "@version@"
"""Where the template names the version of headrace that writes it."""


def init(folder: Path) -> int:
    """Write a new project into a folder that is not there yet, or empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty; name a folder that is not there yet")
    for file in written(folder):
        print(file)
    schemas.write(folder / "schemas")
    return ExitCode.OK


def written(folder: Path, template: str = "template") -> Iterator[Path]:
    """Write a template of ours into a folder, file by file."""
    for path, text in _files(Path(__file__).parents[1] / template):
        file = folder / ".gitignore" if path == Path("gitignore") else folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace(NAME, name_of(folder)).replace(VERSION, __version__), "utf-8")
        yield file


def name_of(folder: Path) -> str:
    """The name of a project in a folder: that of the folder, as far as its letters can stand in a name."""
    name = re.sub(r"\W+", "_", folder.resolve().name.lower(), flags=re.ASCII).strip("_0123456789")
    return name[:63] or NAME


def _files(template: Path) -> Iterator[tuple[Path, str]]:
    """The files of the template, by their paths in it."""
    for file in sorted(template.rglob("*")):
        if file.is_file():
            yield file.relative_to(template), file.read_text("utf-8")

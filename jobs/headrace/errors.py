"""What can go wrong, as data: findings with a place, and the few exceptions that end a command."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from headrace.secrets import hidden


class ExitCode(IntEnum):
    """Process exit codes, the same for every command."""

    OK = 0
    FAILED = 1
    USAGE = 2
    INVALID = 3
    ENVIRONMENT = 4


@dataclass(frozen=True, order=True)
class Place:
    """A position in a project file: path relative to the project, line and column from 1."""

    path: str
    line: int = 1
    column: int = 1

    def __deepcopy__(self, memo: object) -> Place:
        return self  # it never changes, and expressions that carry one are copied by the thousand

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


@dataclass(frozen=True, order=True)
class Finding:
    """One thing wrong with a project: where, a stable code, what is wrong and what to do."""

    place: Place
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.code}: {self.message}"


class HeadraceError(Exception):
    """A failure that is reported in one line, without a traceback; its words show no secret."""

    exit_code = ExitCode.FAILED

    def __init__(self, *words: object) -> None:
        super().__init__(*(hidden(word) if isinstance(word, str) else word for word in words))


class UsageError(HeadraceError):
    """The command line asks for something that does not exist."""

    exit_code = ExitCode.USAGE


class InvalidProject(HeadraceError):
    """The project has findings; nothing was started."""

    exit_code = ExitCode.INVALID

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(sorted(set(findings)))
        super().__init__("\n".join(str(finding) for finding in self.findings))


class Locked(HeadraceError):
    """Another process holds this project's data."""

    exit_code = ExitCode.INVALID


class Overtaken(HeadraceError):
    """Another runner has done the work that this one was about to do; a new attempt starts from what is stored."""


class EnvironmentFault(HeadraceError):
    """Something outside the project is missing or broken; the message names the fix."""

    exit_code = ExitCode.ENVIRONMENT


class Unreadable(EnvironmentFault):
    """What is stored cannot be read; it does not mend itself, but somebody may put it right."""


class TornFile(Unreadable):
    """A file that headrace has written is empty, cut short or damaged; the message names it and the way out.

    `table` is the one whose rows it holds, if it is a data file.
    """

    code = "torn-file"

    def __init__(self, file: object, is_empty: bool, remedy: str, table: str | None = None) -> None:
        what = "is empty" if is_empty else "is cut short or damaged"
        self._say(file, what, remedy, table)

    def _say(self, file: object, what: str, remedy: str, table: str | None) -> None:
        which = "it" if table is None else f"this data file of {table}"
        super().__init__(f"{file}: {self.code}: {which} {what}; {remedy}")


class MissingFile(TornFile):
    """A data file that the log of a table names is gone."""

    code = "missing-file"

    def __init__(self, file: object, table: str, remedy: str) -> None:
        self._say(file, "is gone", remedy, table)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `` Did you mean x?`` for the nearest known word, else an empty string."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" Did you mean {near[0]}?" if near else ""

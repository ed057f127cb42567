"""Archives of our JVMs' classes, one per JVM and virtual environment: a start maps it instead of reading jars.

They are Java's dynamic archives for class data sharing (JEP 350). Java ignores one that does not match.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

import psutil

from headrace.environment import jars, java
from headrace.environment.jars import SetName

_TIMEOUT = 300.0
_QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")


@dataclass(frozen=True)
class Archive:
    """The classes of the JVMs that run one of our sets of jars."""

    jars: SetName

    @property
    def variable(self) -> str:
        """Names the file that a JVM is to write at its end: all classes that it has loaded."""
        return f"HEADRACE_RECORD_{self.jars.upper()}_CLASSES"

    def path(self) -> Path:
        """Where the archive is, for this Java and these jars; it need not be there."""
        program = java.program().resolve()
        known = f"{program} {program.stat().st_mtime_ns} {sys.prefix} {jars.folder_of(self.jars)}"
        name = f"{self.jars}-classes-{sha256(known.encode()).hexdigest()[:16]}.jsa"
        return Path(sys.prefix) / "share" / "headrace" / name

    def options(self) -> tuple[str, ...]:
        """The options with which a JVM uses the archive, or writes one; none where there is none."""
        if recorded := os.environ.get(self.variable):
            return f"-XX:ArchiveClassesAtExit={recorded}", *_QUIET
        found = self.path()
        return (f"-XX:SharedArchiveFile={found}", *_QUIET) if found.exists() else ()


SPARK = Archive("spark")
BROKER = Archive("broker")
ARCHIVES = (SPARK, BROKER)


def record(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> str | None:
    """Run a command in a folder and save the classes of its JVMs; return what went wrong, None if nothing did."""
    drafts = {archive: archive.path().with_suffix(f".{os.getpid()}") for archive in ARCHIVES}
    variables = {archive.variable: str(draft) for archive, draft in drafts.items()}
    try:
        for draft in drafts.values():
            draft.parent.mkdir(parents=True, exist_ok=True)
        done = _run(command, folder, {**(environment or {}), **variables})
        _await_writers(drafts.values())
        if done.returncode or not all(map(Path.exists, drafts.values())):
            return (done.stderr or done.stdout).strip() or "nothing was written"
        for archive, draft in drafts.items():
            draft.replace(archive.path())
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    finally:
        for draft in drafts.values():
            with suppress(OSError):
                draft.unlink()
    return None


def _run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, **environment}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=_TIMEOUT)


def _await_writers(drafts: Iterable[Path]) -> None:
    """Wait for the JVMs that are to write a file: they do so after the command that started them has ended."""
    paths, until = [*map(str, drafts)], time.monotonic() + _TIMEOUT
    while time.monotonic() < until and any(map(partial(_names, paths), psutil.process_iter())):
        time.sleep(0.2)


def _names(paths: Sequence[str], process: psutil.Process) -> bool:
    try:
        arguments = process.cmdline()
    except psutil.Error:  # it has ended, or is not ours
        return False
    return any(word in each for word in paths for each in arguments)

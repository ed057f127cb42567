"""An archive of the classes of Spark's JVM, one per virtual environment: a start maps it instead of reading 300 jars.

It is what Java calls a dynamic archive for class data sharing (JEP 350). Java itself refuses one that does not fit,
and goes on without it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path

import psutil

from headrace.environment import jars, java

RECORD_VARIABLE = "HEADRACE_RECORD_CLASSES"
"""Names the file that a JVM is to write at its end: all classes that it has loaded."""

_TIMEOUT = 300.0
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"


def archive() -> Path:
    """Where the archive is, for this Java and these jars; it need not be there."""
    program = java.program().resolve()
    known = f"{program} {program.stat().st_mtime_ns} {sys.prefix} {jars.folder_of('spark')}"
    return Path(sys.prefix) / "share" / "headrace" / f"classes-{sha256(known.encode()).hexdigest()[:16]}.jsa"


def options() -> str:
    """The options with which a JVM uses the archive, or writes one; none where there is none."""
    if recorded := os.environ.get(RECORD_VARIABLE):
        return f'-XX:ArchiveClassesAtExit="{recorded}" {_QUIET}'
    found = archive()
    return f'-XX:SharedArchiveFile="{found}" {_QUIET}' if found.exists() else ""


def record(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> str | None:
    """Run a command of Spark's in a folder and keep the classes of its JVM; return what went wrong, None if nothing."""
    kept = archive()
    draft = kept.with_suffix(f".{os.getpid()}")
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        done = _run(command, folder, {**(environment or {}), RECORD_VARIABLE: str(draft)})
        _await_writers(draft)
        if done.returncode or not draft.exists():
            return (done.stderr or done.stdout).strip() or "nothing was written"
        draft.replace(kept)
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    finally:
        with suppress(OSError):
            draft.unlink()
    return None


def _run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    told = {**os.environ, **environment}
    return subprocess.run(command, cwd=folder, env=told, capture_output=True, text=True, timeout=_TIMEOUT)


def _await_writers(draft: Path) -> None:
    """Wait for the JVMs that were told to write a file: they do so after the command that started them has ended."""
    until = time.monotonic() + _TIMEOUT
    while time.monotonic() < until and any(map(partial(_names, draft), psutil.process_iter())):
        time.sleep(0.2)


def _names(draft: Path, process: psutil.Process) -> bool:
    try:
        return any(str(draft) in word for word in process.cmdline())
    except psutil.Error:  # it has ended, or is not ours
        return False

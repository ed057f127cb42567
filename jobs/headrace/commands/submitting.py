"""The command submit: a project on a cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from headrace.commands.workspace import Workspace
from headrace.errors import EnvironmentFault, ExitCode, UsageError, did_you_mean
from headrace.platforms import databricks, emr, kubernetes, spark_submit, submission
from headrace.platforms.submission import Submission


@dataclass(frozen=True)
class Platform:
    """How a project gets onto a platform: by a command of Spark's, or by a text that the platform's client takes."""

    command: Callable[[Submission], list[str]] | None = None
    text: Callable[[Submission], str] | None = None
    apply: str = ""
    """What to do with the text, after the command that prints it."""


PLATFORMS: Mapping[str, Platform] = {
    "standalone": Platform(command=spark_submit.standalone),
    "yarn": Platform(command=spark_submit.yarn),
    "k8s": Platform(text=kubernetes.spark_application, apply="| kubectl apply -f -"),
    "databricks": Platform(
        text=databricks.job,
        apply="> job.json, fill in each <...>, then `databricks jobs create --json @job.json`",
    ),
    "emr": Platform(text=emr.add_steps, apply="> step.sh, then `CLUSTER_ID=<the cluster's id> sh step.sh`"),
}


def submit(workspace: Workspace, name: str, shown: bool, options: tuple[str, ...]) -> int:
    """Print what the platform needs, or become spark-submit."""
    platform = PLATFORMS.get(name)
    if platform is None:
        raise UsageError(f"no platform {name}: {', '.join(PLATFORMS)}.{did_you_mean(name, PLATFORMS)}")
    submitted = submission.read(workspace.folder, workspace.target, options)
    if shown:
        print(text(platform, submitted), end="")
        for line in notes(name, platform, submitted):
            print(line, file=sys.stderr)
        return ExitCode.OK
    if platform.command is None:
        raise UsageError(f"{name} has a client of its own: {printing(name, submitted)} {platform.apply}")
    return _execute(platform.command(submitted))


def text(platform: Platform, submitted: Submission) -> str:
    """What to submit, as text."""
    if platform.command is not None:
        return spark_submit.text(platform.command(submitted))
    assert platform.text is not None
    return platform.text(submitted)


def notes(name: str, platform: Platform, submitted: Submission) -> list[str]:
    """What to do with the text, and what the driver needs beside it."""
    how = f"submit it: {printing(name, submitted)} {platform.apply}" if platform.apply else ""
    variables = f"the driver reads these variables: {', '.join(submitted.variables)}" if submitted.variables else ""
    files = f"the driver reads these files: {', '.join(submitted.files)}" if submitted.files else ""
    return [*filter(None, (how, variables, files))]


def printing(name: str, submitted: Submission) -> str:
    """The command that prints the text."""
    return f"headrace -t {submitted.target} submit --target {name} --print"


def _execute(words: list[str]) -> int:
    """Become spark-submit; its exit code is that of the run."""
    program = _program(os.environ.get("SPARK_HOME"))
    if not program.is_file():
        raise EnvironmentFault(f"there is no {program}; set SPARK_HOME to an installation of Spark, or unset it")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, [str(program), *words[1:]])


def _program(home: str | None) -> Path:
    """Spark's own spark-submit: that of SPARK_HOME, else the one that comes with PySpark."""
    if home:
        return Path(home) / "bin" / spark_submit.PROGRAM
    found = find_spec("pyspark")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent / "bin" / spark_submit.PROGRAM

"""The spark-submit command for standalone and YARN clusters, in client mode: the driver is the machine it runs on."""

from __future__ import annotations

import shlex
import sys

from headrace.errors import UsageError
from headrace.platforms.submission import PACKAGED_ENTRY_POINT, Submission

PROGRAM = "spark-submit"


def standalone(submission: Submission) -> list[str]:
    """The command for a standalone cluster, whose address is the target's `spark.master`."""
    master = submission.master or ""
    if not master.startswith("spark://"):
        setting = f"`spark: {{master: spark://host:7077}}` in conf/{submission.target}.yml"
        raise UsageError(f"a standalone cluster needs its address: set {setting}")
    return _local(submission, master)


def yarn(submission: Submission) -> list[str]:
    """The command for YARN, whose address Spark reads from HADOOP_CONF_DIR."""
    return _local(submission, "yarn")


def command(submission: Submission, master: str, python: str, script: str, root: str) -> list[str]:
    """The command for a driver on which Python, the starting script and the project are in these places."""
    confs = {**submission.confs, "spark.pyspark.driver.python": python}
    settings = [word for key, value in confs.items() for word in ("--conf", f"{key}={value}")]
    where = ["--master", master, "--deploy-mode", "client", "--name", submission.name]
    return [PROGRAM, *where, *settings, script, *submission.arguments(root)]


def text(words: list[str]) -> str:
    """A command for a shell, one option a line, and the script with its arguments on the last."""
    script = next(at for at in range(1, len(words), 2) if not words[at].startswith("--"))
    options = [shlex.join(words[at : at + 2]) for at in range(1, script, 2)]
    return " \\\n    ".join([words[0], *options, shlex.join(words[script:])]) + "\n"


def _local(submission: Submission, master: str) -> list[str]:
    """The command for a driver on this machine: this Python, and the starting script that is installed with it."""
    return command(submission, master, sys.executable, str(PACKAGED_ENTRY_POINT), str(submission.root))

"""A step for EMR on EC2: spark-submit in client mode, so the driver runs on the primary node.

A step there is the YARN command as it is, and the primary node keeps its disk for as long as the cluster lives. An EMR
Serverless driver has neither, and would need an image or an archive of Python packages of its own.
"""

from __future__ import annotations

import json
import shlex

from headrace.platforms import spark_submit
from headrace.platforms.submission import Submission

HOME = "/home/hadoop"
PYTHON = f"{HOME}/headrace/bin/python"
"""The virtual environment that a bootstrap action makes on the primary node."""


def add_steps(submission: Submission) -> str:
    """The command that adds the step to the cluster that CLUSTER_ID names."""
    root = f"{HOME}/{submission.project}"
    words = spark_submit.command(submission, "yarn", PYTHON, submission.script(root), root)
    step = {"Type": "CUSTOM_JAR", "Name": submission.name, "ActionOnFailure": "CONTINUE"}
    steps = json.dumps([{**step, "Jar": "command-runner.jar", "Args": words}], indent=2)
    return f'aws emr add-steps --cluster-id "$CLUSTER_ID" --steps {shlex.quote(steps)}\n'

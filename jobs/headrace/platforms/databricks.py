"""A job for Databricks' Jobs API 2.1: one continuous task on a cluster of its own, whose driver runs the project."""

from __future__ import annotations

import json
from typing import Any

from headrace.platforms.submission import Submission
from headrace.version import __version__

WHEEL = f"headrace-{__version__}-py3-none-any.whl"

RUNTIME = "<a runtime with Spark 4.2>"
NODE = "<a type of node>"
"""What a workspace alone knows; the Jobs API refuses it until it is filled in."""


def job(submission: Submission) -> str:
    """The job, as JSON."""
    return json.dumps(_job(submission), indent=2) + "\n"


def _job(submission: Submission) -> dict[str, Any]:
    root = f"/Workspace/Shared/{submission.project}"
    task = {
        "task_key": "run",
        "spark_python_task": {"python_file": submission.script(root), "parameters": submission.arguments(root)},
        "libraries": [{"whl": f"{root}/{WHEEL}"}],
        "new_cluster": _cluster(submission),
    }
    return {
        "name": submission.name,
        "max_concurrent_runs": 1,
        "continuous": {"pause_status": "UNPAUSED"},
        "tasks": [task],
    }


def _cluster(submission: Submission) -> dict[str, Any]:
    """The cluster; `spark.jars` is empty there since the runtime has Delta and the Kafka connector of its own."""
    return {
        "spark_version": RUNTIME,
        "node_type_id": NODE,
        "num_workers": int(submission.confs.get("spark.executor.instances", "2")),
        "data_security_mode": "SINGLE_USER",
        "spark_conf": {**submission.confs, "spark.jars": ""},
        "spark_env_vars": {name: _secret(submission, name) for name in submission.variables},
    }


def _secret(submission: Submission, key: str) -> str:
    return f"{{{{secrets/{submission.name}/{key}}}}}"

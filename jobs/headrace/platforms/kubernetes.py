"""A `SparkApplication` for the Spark operator: the driver is a pod of the project's image, and so are the executors."""

from __future__ import annotations

from io import StringIO
from pathlib import PurePosixPath
from typing import Any

from ruamel.yaml import YAML

from headrace.platforms.submission import Submission

PROJECT = "/app"
"""Where the image has the project; see its Dockerfile."""

DATA = "/data"
"""Where driver and executors see the same volume."""

SPARK = "4.2.0"

_FIELDS = {
    "image": "spark.kubernetes.container.image",
    "namespace": "spark.kubernetes.namespace",
    "account": "spark.kubernetes.authenticate.driver.serviceAccountName",
    "instances": "spark.executor.instances",
    "driver_cores": "spark.driver.cores",
    "driver_memory": "spark.driver.memory",
    "executor_cores": "spark.executor.cores",
    "executor_memory": "spark.executor.memory",
}
"""The Spark properties for which the manifest has fields of its own."""

_DEFAULTS = {
    "account": "spark",
    "instances": "2",
    "driver_cores": "1",
    "driver_memory": "2g",
    "executor_cores": "1",
    "executor_memory": "2g",
}


def spark_application(submission: Submission) -> str:
    """The manifest, as YAML."""
    stream, yaml = StringIO(), YAML()
    yaml.width = 200
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.dump(_manifest(submission), stream)
    return stream.getvalue()


def _manifest(submission: Submission) -> dict[str, Any]:
    fields = {**_DEFAULTS, "image": f"{submission.project}:latest", **_given(submission)}
    namespace = {"namespace": fields["namespace"]} if "namespace" in fields else {}
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": submission.name, **namespace},
        "spec": {
            "type": "Python",
            "mode": "cluster",
            "pythonVersion": "3",
            "sparkVersion": SPARK,
            "image": fields["image"],
            "mainApplicationFile": f"local://{submission.script(PROJECT)}",
            "arguments": submission.arguments(PROJECT),
            "restartPolicy": {"type": "Always"},
            "sparkConf": {key: value for key, value in submission.confs.items() if key not in _FIELDS.values()},
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": f"{submission.name}-data"}}],
            "driver": {**_driver(fields), **_secrets(submission)},
            "executor": {"instances": int(fields["instances"]), **_pod(fields, "executor")},
        },
    }


def _given(submission: Submission) -> dict[str, str]:
    return {name: submission.confs[key] for name, key in _FIELDS.items() if key in submission.confs}


def _driver(fields: dict[str, str]) -> dict[str, Any]:
    return {**_pod(fields, "driver"), "serviceAccount": fields["account"]}


def _pod(fields: dict[str, str], role: str) -> dict[str, Any]:
    return {
        "cores": int(fields[f"{role}_cores"]),
        "memory": fields[f"{role}_memory"],
        "volumeMounts": [{"name": "data", "mountPath": DATA}],
    }


def _secrets(submission: Submission) -> dict[str, Any]:
    """What the target refers to comes from one Secret: variables by its keys, files mounted in their folders."""
    variables = {"envFrom": [{"secretRef": {"name": submission.name}}]} if submission.variables else {}
    folders = sorted({str(PurePosixPath(file).parent) for file in submission.files})
    mounts = [{"name": submission.name, "path": folder, "secretType": "Generic"} for folder in folders]
    return {**variables, **({"secrets": mounts} if mounts else {})}

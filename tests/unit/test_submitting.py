"""`headrace submit`: what each platform is given, without a cluster, and without resolving a reference."""

from __future__ import annotations

import json
import os
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
from kubeflow_spark_api.models import SparkV1beta2SparkApplication
from ruamel.yaml import YAML

from headrace.commands import submitting
from headrace.errors import ExitCode, UsageError
from headrace.platforms import databricks, emr, kubernetes, spark_submit, submission
from headrace.platforms.submission import PACKAGED_ENTRY_POINT, Submission
from tests.unit.conftest import ProjectFiles
from tests.unit.test_cli import ended

PROD = """
kafka:
  bootstrap: env:KAFKA_BOOTSTRAP
  options: {sasl.jaas.config: 'file:/run/secrets/kafka_jaas'}
spark:
  master: spark://master:7077
  conf:
    spark.driver.memory: 4g
    spark.executor.instances: 3
    spark.eventLog.enabled: true
    spark.driver.extraJavaOptions: -Xss4m
    spark.hadoop.fs.s3a.secret.key: env:S3_KEY
"""


@pytest.fixture
def files(project_files: ProjectFiles) -> ProjectFiles:
    """The small project with a target whose secrets are not here, and an entry point."""
    project_files.write("conf/prod.yml", PROD)
    project_files.write("run.py", PACKAGED_ENTRY_POINT.read_text("utf-8"))
    return project_files


@pytest.fixture
def submitted(files: ProjectFiles) -> Submission:
    return submission.read(files.root, "prod", ("--select", "shipping"))


def confs(words: list[str]) -> dict[str, str]:
    return dict(value.split("=", 1) for name, value in pairwise(words) if name == "--conf")


def manifest(submitted: Submission) -> dict:
    return YAML(typ="safe").load(kubernetes.spark_application(submitted))


def test_standalone_runs_the_packaged_entry_point_here(submitted: Submission) -> None:
    words = spark_submit.standalone(submitted)
    at = words.index(str(PACKAGED_ENTRY_POINT))
    assert words[:5] == ["spark-submit", "--master", "spark://master:7077", "--deploy-mode", "client"]
    assert words[at + 1 :] == ["-C", str(submitted.root), "-t", "prod", "--select", "shipping"]


def test_launch_has_the_confs_of_the_target(submitted: Submission) -> None:
    found = confs(spark_submit.standalone(submitted))
    assert (found["spark.driver.memory"], found["spark.eventLog.enabled"]) == ("4g", "true")
    assert found["spark.driver.extraJavaOptions"] == "-Duser.timezone=UTC -Xss4m"


def test_yarn_needs_no_master(files: ProjectFiles) -> None:
    words = spark_submit.yarn(submission.read(files.root, "local"))
    assert words[words.index("--master") + 1] == "yarn"


def test_standalone_without_master_is_refused(files: ProjectFiles) -> None:
    with pytest.raises(UsageError, match=r"conf/local\.yml"):
        spark_submit.standalone(submission.read(files.root, "local"))


def test_command_is_read_by_a_shell_as_it_is(submitted: Submission) -> None:
    words = spark_submit.standalone(submitted)
    assert shlex.split(spark_submit.text(words).replace("\\\n", "")) == words


@pytest.mark.parametrize("name", submitting.PLATFORMS)
def test_text_resolves_no_reference(name: str, submitted: Submission, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("S3_KEY", "KAFKA_BOOTSTRAP"):
        monkeypatch.setenv(variable, "a-secret")
    assert "a-secret" not in submitting.text(submitting.PLATFORMS[name], submitted)


def test_references_are_named(submitted: Submission) -> None:
    assert (submitted.variables, submitted.files) == (("KAFKA_BOOTSTRAP", "S3_KEY"), ("/run/secrets/kafka_jaas",))


def test_target_is_completed_by_the_one_it_is_like(files: ProjectFiles) -> None:
    files.write("conf/mine.yml", "like: prod\nspark: {conf: {spark.driver.memory: 1g}}\n")
    found = submission.read(files.root, "mine")
    assert (found.master, found.confs["spark.driver.memory"]) == ("spark://master:7077", "1g")
    assert found.confs["spark.executor.instances"] == "3"


def test_spark_application_has_known_fields_only(submitted: Submission) -> None:
    found = manifest(submitted)
    known = SparkV1beta2SparkApplication.from_dict(found)
    assert known is not None and known.to_dict() == found


def test_spark_application_runs_the_door_in_the_image(submitted: Submission) -> None:
    spec = manifest(submitted)["spec"]
    assert (spec["mainApplicationFile"], spec["arguments"][:4]) == ("local:///app/run.py", ["-C", "/app", "-t", "prod"])
    assert (spec["driver"]["memory"], spec["executor"]["instances"]) == ("4g", 3)
    assert "spark.driver.memory" not in spec["sparkConf"]


def test_spark_application_takes_secrets_by_reference(submitted: Submission) -> None:
    driver = manifest(submitted)["spec"]["driver"]
    assert driver["envFrom"] == [{"secretRef": {"name": "small-prod"}}]
    assert driver["secrets"] == [{"name": "small-prod", "path": "/run/secrets", "secretType": "Generic"}]


def test_job_of_databricks_is_continuous(submitted: Submission) -> None:
    job = json.loads(databricks.job(submitted))
    (task,) = job["tasks"]
    assert job["continuous"] == {"pause_status": "UNPAUSED"}
    assert task["spark_python_task"]["python_file"] == "/Workspace/Shared/small/run.py"
    assert task["new_cluster"]["spark_env_vars"]["S3_KEY"] == "{{secrets/small-prod/S3_KEY}}"


def test_step_of_emr_is_a_client_of_yarn(submitted: Submission) -> None:
    words = shlex.split(emr.add_steps(submitted))
    (step,) = json.loads(words[-1])
    assert words[:3] == ["aws", "emr", "add-steps"]
    assert step["Args"][:5] == ["spark-submit", "--master", "yarn", "--deploy-mode", "client"]


def test_project_without_door_is_refused(files: ProjectFiles) -> None:
    (files.root / "run.py").unlink()
    with pytest.raises(UsageError, match=r"run\.py"):
        kubernetes.spark_application(submission.read(files.root, "prod"))


def test_entry_point_of_this_checkout_is_that_of_new_projects() -> None:
    root = Path(__file__).parents[2]
    assert [line for line in (root / "jobs/run.py").read_text().splitlines() if not line.startswith('"""')] == [
        line for line in PACKAGED_ENTRY_POINT.read_text().splitlines() if not line.startswith('"""')
    ]


def test_print_gives_the_text_alone_on_stdout(files: ProjectFiles, capsys: pytest.CaptureFixture[str]) -> None:
    code = ended("-C", str(files.root), "-t", "prod", "submit", "--target", "k8s", "--print")
    out, err = capsys.readouterr()
    assert (code, YAML(typ="safe").load(out)["kind"]) == (ExitCode.OK, "SparkApplication")
    assert "kubectl apply -f -" in err


@pytest.mark.parametrize("name", ["k8s", "databricks", "emr"])
def test_platform_with_a_client_of_its_own_is_refused(
    name: str, files: ProjectFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    code = ended("-C", str(files.root), "-t", "prod", "submit", "--target", name)
    out, err = capsys.readouterr()
    assert (code, out, f"headrace -t prod submit --target {name} --print" in err) == (ExitCode.USAGE, "", True)


@pytest.mark.parametrize(
    "words",
    [("-t", "prod", "submit"), ("-t", "prod", "submit", "--target", "k9s"), ("-t", "x", "submit", "--target", "yarn")],
)
def test_misuse_is_refused(words: tuple[str, ...], files: ProjectFiles) -> None:
    assert ended("-C", str(files.root), *words) == ExitCode.USAGE


def test_submit_becomes_spark_submit(files: ProjectFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Path, list[str]]] = []

    def execute(program: Path, words: list[str]) -> None:
        calls.append((program, words))
        raise SystemExit(0)

    monkeypatch.setattr(os, "execv", execute)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    ended("-C", str(files.root), "-t", "prod", "submit", "--target", "standalone", "--", "--available-now")
    ((program, words),) = calls
    assert (program.name, program.is_file(), words[-1]) == ("spark-submit", True, "--available-now")


def test_missing_spark_is_reported(files: ProjectFiles, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "nothing"))
    assert ended("-C", str(files.root), "-t", "prod", "submit", "--target", "yarn") == ExitCode.ENVIRONMENT

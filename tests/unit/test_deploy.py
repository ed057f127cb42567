"""The deployment files, read by the tools that they are for: hadolint, Compose's schema, Helm, Kubernetes' schemas."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import compose_spec
import kubernetes_validate
import pytest
from kubeflow_spark_api.models import SparkV1beta2SparkApplication
from ruamel.yaml import YAML

from headrace.commands import starting, submitting
from headrace.platforms import kubernetes, submission
from headrace.project import loader
from headrace.version import __version__

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "jobs/headrace/template"
CHART = ROOT / "deploy/helm/headrace"
FOLDERS = [ROOT, TEMPLATE]
FULL = {"rest": {"enabled": True}, "secret": "shop", "options": ["--select", "x"], "storage": {"className": "fast"}}
VALUES = [{}, FULL]
HELM = """
import json, sys
import helm_python as helm
path, values = sys.argv[1], json.loads(sys.argv[2])
with helm.Chart.load(path) as chart:
    texts = [*chart.render(values, name="shop", namespace="apps").values()]
print(json.dumps({"report": helm.lint(path, values, strict=True), "texts": texts}))
"""


def read(path: Path) -> Any:
    return YAML(typ="safe").load(path.read_text("utf-8"))


def helm(values: dict[str, Any]) -> dict[str, Any]:
    """What Helm finds in the chart, and what it renders; its library starts threads, so it has a process of its own."""
    if not find_spec("helm_python"):
        pytest.skip("Helm's library has no package for this machine")
    words = [sys.executable, "-c", HELM, str(CHART), json.dumps(values)]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def rendered(values: dict[str, Any]) -> list[Any]:
    texts = helm(values)["texts"]
    return [each for text in texts for each in YAML(typ="safe").load_all(text) if each]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda each: each.name)
def test_dockerfile_has_no_finding(folder: Path) -> None:
    program = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([program, folder / "deploy/Dockerfile"], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("", 0)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda each: each.name)
def test_image_does_not_run_as_root(folder: Path) -> None:
    lines = (folder / "deploy/Dockerfile").read_text("utf-8").splitlines()
    assert [line for line in lines if line.startswith("USER ")][-1] == "USER 185"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda each: each.name)
def test_compose_file_fits_the_specification(folder: Path) -> None:
    text = (folder / "deploy/compose.yml").read_text("utf-8")
    assert compose_spec.PyCompose.from_yaml(text) is not None
    services = read(folder / "deploy/compose.yml")["services"]
    assert {"kafka", "s3", "runner", "rest"} == {*services}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda each: each.name)
def test_containers_run_a_target_of_the_project(folder: Path) -> None:
    services = read(folder / "deploy/compose.yml")["services"]
    commands = [service["command"] for service in (services["runner"], services["rest"])]
    assert {(each[0], each[1], (folder / f"conf/{each[2]}.yml").is_file()) for each in commands} == {
        ("headrace", "-t", True)
    }


def test_new_project_has_the_deployment_files_of_this_one(tmp_path: Path) -> None:
    starting.init(tmp_path / "headrace_demo")
    for path in ("deploy/compose.yml", "deploy/Dockerfile.dockerignore", "conf/compose.yml"):
        assert (tmp_path / "headrace_demo" / path).read_text("utf-8") == (ROOT / path).read_text("utf-8")


def test_new_project_pins_its_headrace(tmp_path: Path) -> None:
    starting.init(tmp_path / "shop")
    assert (tmp_path / "shop/deploy/requirements.txt").read_text("utf-8") == f"headrace=={__version__}\n"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda each: each.name)
def test_target_of_the_containers_is_right(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEADRACE_KAFKA_BOOTSTRAP", "HEADRACE_DATA_DIR", "HEADRACE_SMALL_BATCHES"):
        monkeypatch.delenv(name, raising=False)
    assert loader.load(folder, "compose").target.kafka.bootstrap == "kafka:9092"


def test_spark_application_is_what_submit_prints() -> None:
    text = kubernetes.spark_application(submission.read(ROOT, "prod"))
    written = (ROOT / "deploy/spark-application.yml").read_text("utf-8")
    assert written == text, "headrace -t prod submit --target k8s --print > deploy/spark-application.yml"


def test_spark_application_has_known_fields_only() -> None:
    found = read(ROOT / "deploy/spark-application.yml")
    known = SparkV1beta2SparkApplication.from_dict(found)
    assert known is not None and known.to_dict() == found


@pytest.mark.parametrize("name", submitting.PLATFORMS)
def test_page_tells_of_every_platform(name: str) -> None:
    assert f"| `headrace submit --target {name}" in (ROOT / "docs/deploy.md").read_text("utf-8")


@pytest.mark.parametrize("values", VALUES, ids=["defaults", "full"])
def test_helm_has_no_finding(values: dict[str, Any]) -> None:
    report = helm(values)["report"]
    assert [each["error"] for each in report["messages"]] == ["icon is recommended"]
    assert report["errors"] == []


@pytest.mark.parametrize("values", VALUES, ids=["defaults", "full"])
def test_rendered_objects_fit_kubernetes(values: dict[str, Any]) -> None:
    found = rendered(values)
    for each in found:
        kubernetes_validate.validate(each, "1.37", strict=True)
    assert sorted(each["kind"] for each in found) == ["ConfigMap", "Service", "StatefulSet"]


def test_chart_has_one_runner_that_is_not_root() -> None:
    (spec,) = (each["spec"] for each in rendered({}) if each["kind"] == "StatefulSet")
    pod = spec["template"]["spec"]
    assert (spec["replicas"], [each["name"] for each in pod["containers"]]) == (1, ["runner"])
    assert pod["securityContext"]["runAsNonRoot"] is True


def test_chart_takes_secrets_by_reference() -> None:
    found = rendered(FULL)
    assert "Secret" not in {each["kind"] for each in found}
    (spec,) = (each["spec"] for each in found if each["kind"] == "StatefulSet")
    containers = spec["template"]["spec"]["containers"]
    assert {each["envFrom"][0]["secretRef"]["name"] for each in containers} == {"shop"}


def test_target_of_the_chart_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP", "kafka:9092")
    starting.init(tmp_path / "shop")
    (conf,) = (each["data"] for each in rendered({}) if each["kind"] == "ConfigMap")
    (tmp_path / "shop/conf/k8s.yml").write_text(conf["k8s.yml"], "utf-8")
    assert str(loader.load(tmp_path / "shop", "k8s").target.data_dir) == "/data"

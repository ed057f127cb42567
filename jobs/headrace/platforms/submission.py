"""What is submitted: a project, a target, and the Spark properties that must be known before the driver starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.errors import UsageError, did_you_mean
from headrace.project.declarations import documents, manifest, target
from headrace.project.files import read_text

ENTRY_POINTS = ("run.py", "jobs/run.py")
"""Where a project keeps the script that spark-submit runs; `headrace init` writes the first."""

PACKAGED_ENTRY_POINT = Path(__file__).parents[1] / "template" / "run.py"
"""The same script inside the installed package."""

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
UTC = "-Duser.timezone=UTC"


@dataclass(frozen=True)
class Submission:
    """A project to be run for a target, with the options of `headrace run`."""

    project: str
    root: Path
    target: str
    master: str | None
    confs: Mapping[str, str]
    """Spark properties of the target, without those that are references."""
    variables: tuple[str, ...]
    """The environment variables that the target refers to."""
    files: tuple[str, ...]
    """The files that the target refers to."""
    entry_point: str | None
    """The project's own script for spark-submit, relative to its root."""
    options: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the application, in letters that every platform takes."""
        return f"{self.project}-{self.target}".lower().replace("_", "-").replace(".", "-")

    def arguments(self, root: str) -> list[str]:
        """The arguments of the entry point for a project that is at `root` on the driver's machine."""
        return ["-C", root, "-t", self.target, *self.options]

    def script(self, root: str) -> str:
        """The project's own entry point, for a project that is at `root` on the driver's machine."""
        if self.entry_point is None:
            raise UsageError(
                f"the project has no {ENTRY_POINTS[0]} for spark-submit; copy {PACKAGED_ENTRY_POINT} to its root"
            )
        return f"{root}/{self.entry_point}"


def read(folder: Path, name: str, options: tuple[str, ...] = ()) -> Submission:
    """Read what a project submits for a target; references stay unresolved, as the driver resolves them."""
    root = manifest.find_root(folder)
    declared = _declared(root, name)
    spark = _mapping(declared, "spark")
    confs = {key: _text(value) for key, value in _mapping(spark, "conf").items() if not _is_reference(value)}
    confs[JAVA_OPTIONS] = f"{UTC} {confs.get(JAVA_OPTIONS, '')}".rstrip()
    found = sorted({*_references(declared)})
    return Submission(
        project=manifest.read(root).name,
        root=root,
        target=name,
        master=str(spark["master"]) if "master" in spark else None,
        confs=confs,
        variables=tuple(each.removeprefix("env:") for each in found if each.startswith("env:")),
        files=tuple(each.removeprefix("file:") for each in found if each.startswith("file:")),
        entry_point=next((name for name in ENTRY_POINTS if (root / name).is_file()), None),
        options=options,
    )


def _declared(root: Path, name: str) -> dict[str, Any]:
    """A target as its file declares it; what it is `like` counts where it says nothing."""
    names = target.target_names(root)
    if name not in names:
        raise UsageError(f"no target {name}: conf/{name}.yml does not exist.{did_you_mean(name, names)}")
    path = f"conf/{name}.yml"
    own = documents.parse(read_text(root, path), path).value
    if not isinstance(own, dict):
        return {}
    wider = _declared(root, own["like"]) if own.get("like") in {*names} - {name} else {}
    return dict(documents.merged(wider, own))


def _mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}


def _is_reference(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(("env:", "file:")) and not value.startswith("file:///")


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _references(item)
    elif _is_reference(value):
        yield str(value)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

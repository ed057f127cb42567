"""What the analyst waits for: `headrace check --offline`, and `headrace plan` after an edit of every model."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from headrace.planning import declared
from headrace.planning.declared import Declared
from headrace.project import loader
from headrace.project.declarations.targets.references import DATA_DIR_VARIABLE
from headrace.store.layout import Layout

ROOT = Path(__file__).parents[1]
_REFUSED = 3


def check() -> dict[str, float]:
    """A check of the project of this checkout."""
    return _best_of(ROOT, ["check", "--offline"], {})


def plan(folder: Path) -> dict[str, float]:
    """A plan after an edit of every model: every text has changed, so all are parsed and compared."""
    root, layout = folder / "project", Layout(folder / "plan")
    for part in ("conf", "macros", "sql"):
        shutil.copytree(ROOT / part, root / part, dirs_exist_ok=True)
    shutil.copy(ROOT / "manifest.yml", root)
    project = loader.load(root, "local")
    started = [each.query for each in project.landings] + [each.name for each in project.queries]
    declared.write(layout, Declared.of(project), started, {})
    for file in root.glob("sql/*/*/*.sql"):
        file.write_text(file.read_text("utf-8").replace("select", "SELECT"), "utf-8")
    return _best_of(root, ["plan"], {DATA_DIR_VARIABLE: str(layout.data_dir)})


def _best_of(root: Path, words: list[str], environment: Mapping[str, str], rounds: int = 5) -> dict[str, float]:
    """The best of some rounds, as the first one compiles the Python code."""
    times = [_once(root, words, environment) for _ in range(rounds)]
    models = len([*root.glob("sql/*/*/*.sql")])
    return {"models": models, "cpu_s": min(cpu for cpu, _ in times), "seconds": min(wall for _, wall in times)}


def _once(root: Path, words: list[str], environment: Mapping[str, str]) -> tuple[float, float]:
    before, began = _cpu(), time.monotonic()
    command = [sys.executable, "-m", "headrace", "-C", str(root), *words]
    ended = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL)
    assert ended.returncode in (0, _REFUSED), command
    return round(_cpu() - before, 2), round(time.monotonic() - began, 2)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

"""The owner of a store: a note of the project that writes there; another project, or an older headrace, is refused.

Two projects may well have tables and queries of the same names: each would take the other's rows for its own, and a
reset of one would remove them. The note is written by the first run; a store of before has none, and takes that run's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.environment.backup import FOLDERS
from headrace.errors import EnvironmentFault
from headrace.store import durable, json_files
from headrace.store.layout import Layout
from headrace.store.paths import StorePath

_FORMAT = 1
"""Of all that is stored: a number that a headrace does not know was written by a newer one."""

_ELSEWHERE = "name another folder (`data_dir` or `store` in conf/, HEADRACE_DATA_DIR, HEADRACE_STORE)"


def refuse(layout: Layout, project: str) -> None:
    """Refuse a store that is not there, that another project writes, or that a newer headrace has written."""
    _refuse_lost(layout.root)
    try:
        name, number = json_files.read(layout.owner, _noted, "remove it: the next run writes it again")
    except FileNotFoundError:
        return
    if number > _FORMAT:
        raise EnvironmentFault(f"{layout.root} was written by a newer headrace: use that one, or {_ELSEWHERE}")
    if name != project:
        raise EnvironmentFault(
            f"{layout.root} holds the data of the project {name}, and this one is {project}: {_ELSEWHERE}. "
            f"If {name} was given this name, remove {layout.owner}"
        )


def claim(layout: Layout, project: str) -> None:
    """Note whose the store is, if nobody has; the runner's lease must be held."""
    refuse(layout, project)
    if not layout.owner.is_file():
        durable.write(layout.owner, json.dumps({"project": project, "format": _FORMAT}))


def _refuse_lost(root: StorePath) -> None:
    """Refuse a folder that is a file, and links that lead nowhere: a disk that is not mounted would look empty."""
    if not isinstance(root, Path):
        return
    for folder in (root, *(root / name for name in FOLDERS)):
        is_there = folder.is_symlink() or folder.exists()
        if is_there and not folder.is_dir():
            raise EnvironmentFault(f"{folder} is a file, or a link that leads to no folder: mount it, or {_ELSEWHERE}")


def _noted(fields: Mapping[str, Any]) -> tuple[str, int]:
    return str(fields["project"]), int(fields["format"])

"""Where a target keeps its data, and where the target does that it is like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.project.declarations.documents import Document
from headrace.project.declarations.targets.references import DATA_DIR_VARIABLE, STORE_VARIABLE
from headrace.project.declarations.targets.shape import FileShape
from headrace.store.paths import ObjectPath, path_of


@dataclass(frozen=True)
class Folders:
    """Where a target keeps its data, and where the target does that it is like, if there is one."""

    data_dir: Path
    store: Path | ObjectPath | None
    other_data_dir: Path | None = None
    other_store: Path | ObjectPath | None = None


def of(
    root: Path,
    name: str,
    own: Document,
    file: FileShape,
    other: tuple[str, FileShape] | None,
    environ: Mapping[str, str],
) -> Folders:
    """A folder that a variable names, and a store of the other target, belong to the other: ours is next to it."""
    data_dir, store = _data_dir(root, name, file), _store_of(root, file)
    if other is None:
        return Folders(data_dir, store)
    if environ.get(DATA_DIR_VARIABLE):
        data_dir = Path(f"{data_dir}-{name}")
    if store is not None and (environ.get(STORE_VARIABLE) or "store" not in (own.value or {})):
        store = _beside(store, name)
    return Folders(data_dir, store, _data_dir(root, *other), _store_of(root, other[1]))


def _data_dir(root: Path, name: str, file: FileShape) -> Path:
    return root / Path(file.data_dir or f".headrace/{name}").expanduser()


def _store_of(root: Path, file: FileShape) -> Path | ObjectPath | None:
    if file.store is None:
        return None
    found = path_of(file.store.url, file.store.options)
    return root / found.expanduser() if isinstance(found, Path) else found


def _beside(store: Path | ObjectPath, name: str) -> Path | ObjectPath:
    """The store of a target that is like the one whose store this is: a bucket without a prefix gets one."""
    if isinstance(store, Path):
        return Path(f"{store}-{name}")
    url = store.bucket.url.rstrip("/")
    return path_of(f"{url}-{name}" if "/" in url.partition("://")[2] else f"{url}/{name}", store.bucket.options)

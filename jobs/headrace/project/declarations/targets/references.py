"""What a file of conf/ takes from elsewhere: variables of the environment, and values that it refers to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from headrace.errors import EnvironmentFault, Finding, InvalidProject
from headrace.project.declarations import shapes
from headrace.project.declarations.documents import Document, Keys
from headrace.project.model import SmallBatchMode
from headrace.secrets import SHORTEST

BOOTSTRAP_VARIABLE = "HEADRACE_KAFKA_BOOTSTRAP"
DATA_DIR_VARIABLE = "HEADRACE_DATA_DIR"
STORE_VARIABLE = "HEADRACE_STORE"
SMALL_BATCHES_VARIABLE = "HEADRACE_SMALL_BATCHES"


def check_environment(environ: Mapping[str, str]) -> None:
    """Refuse variables that no file of conf/ could say; EnvironmentFault, which names the variable."""
    checks = (
        (BOOTSTRAP_VARIABLE, shapes.bootstrap_fault),
        (DATA_DIR_VARIABLE, shapes.folder_fault),
        (STORE_VARIABLE, shapes.store_fault),
    )
    for variable, fault in checks:
        if (value := environ.get(variable)) and (message := fault(value)):
            raise EnvironmentFault(f"{variable}: {message}")
    mode, modes = environ.get(SMALL_BATCHES_VARIABLE), get_args(SmallBatchMode)
    if mode and mode not in modes:
        raise EnvironmentFault(f"{SMALL_BATCHES_VARIABLE}: `{mode}` is none of {', '.join(modes)}")


def overridden(document: Document, environ: Mapping[str, str]) -> Document:
    """A file with what the environment says in its place."""
    value = {} if document.value is None else document.value
    if not isinstance(value, Mapping):
        return document
    kafka, spark = value.get("kafka") or {}, value.get("spark") or {}
    if (bootstrap := environ.get(BOOTSTRAP_VARIABLE)) and isinstance(kafka, Mapping):
        value = {**value, "kafka": {**kafka, "bootstrap": bootstrap}}
    if data_dir := environ.get(DATA_DIR_VARIABLE):
        value = {**value, "data_dir": data_dir}
    if url := environ.get(STORE_VARIABLE):
        store = value.get("store")
        value = {**value, "store": {**(store if isinstance(store, Mapping) else {}), "url": url}}
    if (mode := environ.get(SMALL_BATCHES_VARIABLE)) and isinstance(spark, Mapping):
        value = {**value, "spark": {**spark, "small_batches": mode}}
    return replace(document, value=value)


def resolved(document: Document, root: Path, environ: Mapping[str, str], references: dict[str, str]) -> Document:
    """Replace each `env:NAME` and `file:/path` by what it refers to, and note that; `file:///...` stays a URI."""
    found: list[Finding] = []

    def resolve(value: Any, keys: Keys) -> Any:
        if isinstance(value, Mapping):
            return {key: resolve(item, (*keys, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [resolve(item, (*keys, index)) for index, item in enumerate(value)]
        if not isinstance(value, str):
            return value
        try:
            referred = _referred(value, root, environ)
        except LookupError as error:
            found.append(Finding(document.value_place(*keys), "missing-reference", str(error.args[0])))
            return value
        if referred != value and len(referred) >= SHORTEST:
            references[referred] = value
        return referred

    value = resolve(document.value, ())
    if found:
        raise InvalidProject(found)
    return replace(document, value=value)


def _referred(text: str, root: Path, environ: Mapping[str, str]) -> str:
    if text.startswith("env:"):
        name = text.removeprefix("env:")
        if name not in environ:
            raise LookupError(f"the environment variable {name} is not set; set it, or use another target")
        return environ[name]
    if text.startswith("file:") and not text.startswith("file://"):
        file = root / text.removeprefix("file:")
        try:
            return file.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError):
            raise LookupError(f"the file {file} cannot be read; create it, or use another target") from None
    return text

"""What is well-formed in a file of conf/ and cannot work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from headrace.errors import EnvironmentFault, Finding, did_you_mean
from headrace.project.declarations import shapes
from headrace.project.declarations.documents import Document
from headrace.project.declarations.targets.folders import Folders
from headrace.project.declarations.targets.shape import FileShape
from headrace.project.kafka_options import client_properties
from headrace.store import hadoop


def store_findings(document: Document, file: FileShape) -> Iterator[Finding]:
    """What neither Spark nor the driver's own client could use."""
    if file.store is None:
        return
    url, options = file.store.url, file.store.options
    known = hadoop.known_options(url)
    unknown = [name for name in options if name not in known]
    for name in unknown:
        advice = did_you_mean(name, known) or (f" Known here: {', '.join(known)}." if known else "")
        message = f"the store {url} has no option `{name}`.{advice}"
        yield Finding(document.key_place("store", "options", name), "unknown-key", message)
    if "://" in url and not unknown:
        try:
            hadoop.place_of(url, options)
        except EnvironmentFault as fault:
            yield Finding(document.value_place("store", "url"), "bad-value", f"`store`: {fault}")


def path_findings(document: Document, folders: Folders) -> Iterator[Finding]:
    """Folders in which no table could be read; one may lie in a project whose own path is not fit."""
    for key, folder in (("data_dir", folders.data_dir), ("store", folders.store)):
        if isinstance(folder, Path) and (message := shapes.path_fault(str(folder))):
            yield Finding(document.value_place(key), "bad-value", f"`{key}`: {message}")


def shared_store_findings(document: Document, file: FileShape, folders: Folders) -> Iterator[Finding]:
    """A store that belongs to the target that this one is like."""
    if folders.store is not None and folders.store == folders.other_store:
        message = f"`store`: {file.like} keeps its tables there; give another one, or leave it out"
        yield Finding(document.value_place("store", "url"), "bad-value", message)


def like_findings(document: Document, file: FileShape, folders: Folders) -> Iterator[Finding]:
    """What makes sense only with another target, or is its own."""
    other = folders.other_data_dir
    if other is not None and folders.data_dir.resolve() == other.resolve():
        message = f"`data_dir`: {file.like} keeps its tables there; give another folder, or leave it out"
        yield Finding(document.value_place("data_dir"), "bad-value", message)
    for key in ("suffix", "input") if file.like is None else ():
        if key in file.model_fields_set:
            message = f"`{key}` is for a target that shares topics with another; add `like: <target>`"
            yield Finding(document.key_place(key), "bad-value", message)


def option_findings(document: Document, file: FileShape) -> Iterator[Finding]:
    """What no Kafka client could use."""
    options = file.kafka.options
    for name in options.keys() - client_properties.KNOWN:
        message = f"no Kafka client knows `{name}`.{did_you_mean(name, client_properties.KNOWN)}"
        yield Finding(document.key_place("kafka", "options", name), "unknown-key", message)
    for name, reason in client_properties.refused(options):
        message = f"`kafka.options.{name}`: {reason}"
        yield Finding(document.value_place("kafka", "options", name), "bad-value", message)


def token_findings(document: Document, file: FileShape) -> Iterator[Finding]:
    """A token in a file of the project is a token in its history."""
    if file.http.token is not None and not re.match("env:|file:(?!//)", document.value["http"]["token"]):
        message = "`http.token`: give a reference, such as `env:HTTP_TOKEN` or `file:/run/secrets/http_token`"
        yield Finding(document.value_place("http", "token"), "bad-value", message)

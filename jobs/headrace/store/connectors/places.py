"""A store as Spark knows it, and how a connector reads its url and options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from headrace.errors import EnvironmentFault

Options = Mapping[str, str]
JarSet = Literal["s3", "azure", "gcs"]
"""A set of jars that not every session needs."""

_TRUE, _FALSE = frozenset(("1", "true", "on", "yes", "y")), frozenset(("0", "false", "off", "no", "n"))

RENAMED_CHECKPOINTS: Mapping[str, str] = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"
    ),
}
"""For stores whose streams cannot be aborted; the other manager that renames does not replace a file."""


@dataclass(frozen=True)
class Place:
    """A store as Spark knows it: confs to start a session with, and the jars that must be on its class path."""

    uri: str
    confs: Mapping[str, str] = field(default_factory=dict, repr=False)
    jars: tuple[JarSet, ...] = ()


def parts(url: str) -> tuple[str, str]:
    """Split into bucket and prefix; a prefix that Hadoop and object_store might encode differently is refused."""
    bucket, _, prefix = url.partition("://")[2].partition("/")
    if not bucket:
        raise EnvironmentFault(f"The store {url} names no bucket. Correct `store:` in conf/.")
    steps = prefix.strip("/").split("/") if prefix.strip("/") else []
    if not all(re.fullmatch(r"[\w.=-]+", step, re.ASCII) and step not in {".", ".."} for step in steps):
        raise EnvironmentFault(f"The folder in {url} may have only letters, digits and `_ . = -`.")
    return bucket, "/".join(steps)


def joined(root: str, prefix: str) -> str:
    """The URI of a prefix, which may be empty."""
    return f"{root}/{prefix}" if prefix else root


def require(options: Options, names: Iterable[str]) -> None:
    """Refuse options of which one is missing."""
    missing = [name for name in names if name not in options]
    if missing:
        raise EnvironmentFault(f"The store's options lack {missing[0]}. Correct `store:` in conf/.")


def flag(options: Options, name: str) -> bool:
    """The value of an option that is on or off; off where it is missing."""
    value = options.get(name, "false")
    if value.lower() not in _TRUE | _FALSE:
        raise EnvironmentFault(f"`{name}: {value}` should be true or false. Correct `store:` in conf/.")
    return value.lower() in _TRUE


def listed(names: Iterable[str]) -> str:
    """Names as a message has them."""
    return ", ".join(names)

"""The project of the checkout on an object store, called from machines that have nothing else in common."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from headrace.environment.broker import Broker
from headrace.project import loader
from headrace.reading.rows import to_json
from headrace.reading.show import show
from headrace.store.layout import Layout
from headrace.store.paths import path_of
from tests.kafka.cluster import Cluster, Sent
from tests.kafka.runner import Runner
from tests.kafka.spark_cluster import SUBMITTER
from tests.kafka.stage import PROJECT, command, environ
from tests.s3.server import S3Server
from tests.waiting import PATIENCE

SECRETS: Mapping[str, str] = {"aws_secret_access_key": "S3_SECRET", "azure_storage_account_key": "AZURE_KEY"}
"""Options that a target gives by reference, and the variables that they are in."""

PARTS = ("manifest.yml", "sql", "macros")


@dataclass(frozen=True)
class Store:
    """A place in a bucket, and obstore's options for it."""

    url: str
    options: Mapping[str, str]

    def declared_by(self, machine: str) -> Mapping[str, Any]:
        """The store as a target declares it, with the machine's name as its access key where any will do."""
        hidden = {name: f"env:{SECRETS[name]}" for name in self.options if name in SECRETS}
        own = {name: machine for name in self.options if name == "aws_access_key_id"}
        return {"url": self.url, "options": {**self.options, **hidden, **own}}

    @property
    def secrets(self) -> Mapping[str, str]:
        """The variables that the declaration refers to."""
        return {SECRETS[name]: value for name, value in self.options.items() if name in SECRETS}


@dataclass(frozen=True)
class Machine:
    """A folder with the project and, in `data`, whatever a run leaves here; its name is its access key."""

    folder: Path
    bootstrap: str
    secrets: Mapping[str, str]

    @property
    def environ(self) -> dict[str, str]:
        return {**environ(self.bootstrap), **self.secrets}

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run one headrace command to its end."""
        asked, within = command(*words, project=self.folder), 2 * PATIENCE
        return subprocess.run(asked, env=self.environ, cwd=self.folder, capture_output=True, text=True, timeout=within)

    @contextmanager
    def runner(self, *words: str) -> Iterator[Runner]:
        """A runner for as long as the block lasts."""
        runner = Runner(command("run", *words, project=self.folder), self.environ, self.folder, self.folder / "data")
        try:
            yield runner
        finally:
            runner.close()

    @contextmanager
    def submitted(self, *words: str) -> Iterator[Runner]:
        """A driver of the cluster that the settings name, for as long as the block lasts.

        spark-submit prints on stdout what its Python prints on stderr.
        """
        asked = command("submit", "--target", "standalone", "--", *words, project=self.folder)
        local = {**SUBMITTER, "SPARK_LOCAL_DIRS": str(self.folder / "spark")}
        together = ["sh", "-c", 'exec "$@" >&2', "sh", *asked]
        runner = Runner(together, {**self.environ, **local}, self.folder, self.folder)
        try:
            yield runner
        finally:
            runner.close()

    def done(self, *words: str) -> str:
        """Run one headrace command, which must succeed; return what it prints."""
        done = self.call(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def rows(self, *words: str) -> list[dict[str, Any]]:
        """The rows that a command prints."""
        return [json.loads(line) for line in self.done(*words, "--json").splitlines()]


@dataclass(frozen=True)
class Site:
    """A broker and a store, and machines that have nothing but a copy of the project's files."""

    folder: Path
    cluster: Cluster
    store: Store
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What each machine's target says beside where data are."""

    def machine(self, name: str) -> Machine:
        """A machine on which nothing has ever run."""
        folder = self.folder / name
        folder.mkdir()
        for part in PARTS:
            source = PROJECT / part
            if source.is_dir():
                shutil.copytree(source, folder / part)
            else:
                shutil.copy(source, folder / part)
        (folder / "conf").mkdir()
        conf = {"store": self.store.declared_by(name), "data_dir": "data"}
        conf |= {"kafka": {"create_topics": True}, "spark": {"compiler": "quick"}, **self.settings}
        with (folder / "conf" / "test.yml").open("w") as out:
            YAML().dump(conf, out)
        return Machine(folder, self.cluster.bootstrap, self.store.secrets)

    def committed(self, topic: str) -> list[Sent]:
        """Every committed record of a topic."""
        return self.cluster.committed(topic)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All rows of a table, read in this process: a command takes a second to start."""
        layout = Layout(self.folder, path_of(self.store.url, self.store.options))
        return [json.loads(to_json(row)) for row in show(loader.load(PROJECT, "test"), layout, table).rows]


@contextmanager
def site(folder: Path, store: Store, settings: Mapping[str, Any] | None = None) -> Iterator[Site]:
    """A broker for as long as the block lasts, beside a store that is there."""
    with Broker(folder / "broker").running() as state:
        assert state.bootstrap is not None
        yield Site(folder, Cluster(state.bootstrap), store, settings or {})


def in_bucket(server: S3Server) -> Store:
    """A place in a server's bucket."""
    return Store(f"{server.url}/shop", server.options)

"""The pytest plugin: every `<test path>/<model>/<case>.yml` becomes three tests, one for each cut."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from random import Random, randrange
from threading import Lock
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.errors import HeadraceError, InvalidProject, UsageError
from headrace.project import loader, manifest
from headrace.project.manifest import Manifest
from headrace.project.model import Project
from headrace.testing import case as cases
from headrace.testing.case import Case, Cut
from headrace.testing.comparison import differences, plain
from headrace.testing.landed import Landed, land
from headrace.testing.sandbox import Sandbox
from headrace.testing.trial import Models, outcome_of

_SANDBOX = pytest.StashKey[Sandbox]()
_PROJECTS = pytest.StashKey[dict[Path, Project]]()
_SEED = pytest.StashKey[int]()
_WORKERS = pytest.StashKey[ThreadPoolExecutor]()

_AT_ONCE = 2
"""How many cuts run beside each other: a small batch is mostly planning, which keeps one core busy."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the cuts of a failed run be repeated."""
    parser.addini("headrace_target", "the target whose variables model tests have", default="test")
    parser.addoption("--cut-seed", type=int, help="repeat the cuts and crashes of a run: the seed that it printed")


def pytest_configure(config: pytest.Config) -> None:
    """Make what all tests share; nothing of it starts yet."""
    config.addinivalue_line("markers", "spark: starts a JVM with Spark")
    given = config.getoption("--cut-seed")
    config.stash[_SEED] = randrange(1_000_000) if given is None else given
    config.stash[_PROJECTS] = {}
    config.stash[_SANDBOX] = Sandbox()
    config.stash[_WORKERS] = ThreadPoolExecutor(_AT_ONCE, "case")


def pytest_unconfigure(config: pytest.Config) -> None:
    """End what was started."""
    config.stash[_WORKERS].shutdown(cancel_futures=True)
    config.stash[_SANDBOX].close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Take the YAML files two levels below the project's test paths."""
    if file_path.suffix != ".yml":
        return None
    try:
        root = manifest.find_root(file_path.parent)
    except UsageError:
        return None
    paths = {root / path for path in _test_paths(root)}
    return CaseFile.from_parent(parent, path=file_path) if file_path.parent.parent in paths else None


def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Start the next cuts with this one."""
    items = item.session.items
    for each in items[items.index(item) :][:_AT_ONCE]:
        if not isinstance(each, CaseItem):
            break  # another test may need the machine for itself
        each.start()


class CaseFile(pytest.File):
    """One case."""

    def __init__(self, **rest: Any) -> None:
        super().__init__(**rest)
        self._landing = Lock()

    def collect(self) -> Iterator[CaseItem]:
        try:
            found = self.case
        except HeadraceError as error:
            raise self.CollectError(str(error)) from None
        for cut in found.cuts:
            yield CaseItem.from_parent(self, name=f"[{cut}]", cut=cut)

    @cached_property
    def case(self) -> Case:
        """The case as the file says it."""
        project = _project(self.config, manifest.find_root(self.path.parent))
        return cases.read(project, self.path.relative_to(project.root).as_posix())

    @property
    def landed(self) -> Landed:
        """What lands, the same for each cut."""
        with self._landing:
            return self._landed

    @cached_property
    def _landed(self) -> Landed:
        return land(sandbox_of(self.config).spark, self.case.project, self.case.given)


class CaseItem(pytest.Item):
    """One case in one cut."""

    def __init__(self, *, cut: Cut, **rest: Any) -> None:
        super().__init__(**rest)
        self.cut = cut
        self.add_marker("spark")
        self._found: Future[list[str]] | None = None

    def start(self) -> Future[list[str]]:
        """Find the differences on a thread, once."""
        if self._found is None:
            self._found = self.config.stash[_WORKERS].submit(self._differences)
        return self._found

    def runtest(self) -> None:
        if found := self.start().result():
            raise HeadraceError("\n\n".join(found))

    def _differences(self) -> list[str]:
        file, random = self._file, Random(f"{self._seed} {self.nodeid}")
        outcome = outcome_of(sandbox_of(self.config), file.case, file.landed, self.cut, random)
        return list(differences(file.case, file.landed, outcome))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The differences or the findings; only what is no fault of the case has a traceback."""
        if not isinstance(excinfo.value, HeadraceError):
            return super().repr_failure(excinfo, style)
        text = f"{self._file.case.path} [{self.cut}] --cut-seed {self._seed}\n\n{excinfo.value}"
        return text if self.config.get_terminal_writer().hasmarkup else plain(text)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self._file.case.model.table} {self.path.stem} {self.name}"

    @property
    def _file(self) -> CaseFile:
        assert isinstance(self.parent, CaseFile)
        return self.parent

    @property
    def _seed(self) -> int:
        return self.config.stash[_SEED]


@pytest.fixture(scope="session")
def sandbox(pytestconfig: pytest.Config) -> Sandbox:
    """Spark and folders for tests, shared with the cases."""
    return sandbox_of(pytestconfig)


@pytest.fixture(scope="session")
def spark(sandbox: Sandbox) -> SparkSession:
    """The session of this test run."""
    return sandbox.spark


@pytest.fixture(scope="session")
def models(sandbox: Sandbox, pytestconfig: pytest.Config) -> Models:
    """The project's models, to be run over a few records."""
    return Models(sandbox, _project(pytestconfig, manifest.find_root(pytestconfig.rootpath)))


def sandbox_of(config: pytest.Config) -> Sandbox:
    """The sandbox of a test run."""
    return config.stash[_SANDBOX]


def _test_paths(root: Path) -> tuple[str, ...]:
    try:
        return manifest.read(root).test_paths
    except InvalidProject:
        return Manifest().test_paths  # what is wrong with it is told where the case is read


def _project(config: pytest.Config, root: Path) -> Project:
    projects = config.stash[_PROJECTS]
    if root not in projects:
        projects[root] = loader.load(root, config.getini("headrace_target"))
    return projects[root]

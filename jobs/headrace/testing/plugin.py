"""The pytest plugin: every `<test path>/<model>/<case>.yml` becomes tests: one for each cut, and for each property."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from random import Random, randrange
from threading import Lock
from typing import Any, cast, get_args

import pytest
from pyspark.sql import SparkSession

from headrace.catalogue import artifacts
from headrace.catalogue.artifacts import Result
from headrace.errors import HeadraceError, InvalidProject, UsageError
from headrace.project import loader
from headrace.project.declarations import manifest
from headrace.project.declarations.manifest import Manifest
from headrace.project.declarations.targets.references import SMALL_BATCHES_VARIABLE
from headrace.project.model import Project, SmallBatchMode
from headrace.testing.cases import case as cases
from headrace.testing.cases import casefiles, landing_report
from headrace.testing.cases.case import Case, Cut
from headrace.testing.cases.comparison import differences, plain
from headrace.testing.cases.landing import Landed, land
from headrace.testing.cases.outcome import Outcome
from headrace.testing.properties import Property, properties
from headrace.testing.properties import differences as broken
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.trial import Models, outcome_of

_SANDBOX = pytest.StashKey[Sandbox]()
_PROJECTS = pytest.StashKey[dict[Path, Project]]()
_TEST_PATHS = pytest.StashKey[dict[Path, tuple[str, ...]]]()
_SEED = pytest.StashKey[int]()
_RESULTS = pytest.StashKey[list[Result]]()
_WORKERS = pytest.StashKey[ThreadPoolExecutor]()

_AT_ONCE = 2
"""How many cuts run at the same time, this one and the next: planning, as most of a batch is, keeps one core busy."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the cuts of a failed run be repeated."""
    parser.addini("headrace_target", "the target whose variables model tests have", default="test")
    parser.addoption(
        "--run-results", type=Path, metavar="DIR", help="write run_results.json in dbt's form into a folder"
    )
    parser.addoption("--cut-seed", type=int, help="repeat the cuts and crashes of a run: the seed that it printed")


def pytest_configure(config: pytest.Config) -> None:
    """Create what all tests share; nothing starts yet."""
    config.addinivalue_line("markers", "spark: starts a JVM with Spark")
    seed = config.getoption("--cut-seed")
    config.stash[_SEED] = randrange(1_000_000) if seed is None else seed
    config.stash[_PROJECTS] = {}
    config.stash[_TEST_PATHS] = {}
    config.stash[_RESULTS] = []
    config.stash[_SANDBOX] = Sandbox(_mode())
    is_one_of_many = hasattr(config, "workerinput")  # then the cores are busy, and cases run in sequence share plans
    config.stash[_WORKERS] = ThreadPoolExecutor(1 if is_one_of_many else _AT_ONCE, "case")


def pytest_unconfigure(config: pytest.Config) -> None:
    """End what was started."""
    config.stash[_WORKERS].shutdown(cancel_futures=True)
    config.stash[_SANDBOX].close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Take the YAML files two levels below the project's test paths."""
    if file_path.suffix not in casefiles.SUFFIXES:
        return None
    try:
        root = manifest.find_root(file_path.parent)
    except UsageError:
        return None
    known = parent.config.stash[_TEST_PATHS]
    if root not in known:
        known[root] = _test_paths(root)
    paths = {root / path for path in known[root]}
    return CaseFile.from_parent(parent, path=file_path) if file_path.parent.parent in paths else None


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Start the next cut with this one; another test may need the machine for itself."""
    for each in (item, nextitem):
        if isinstance(item, CaseItem) and isinstance(each, CaseItem):
            each.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Record the result of a cut."""
    report = yield
    if call.when == "call" and isinstance(item, CaseItem):
        message = None if report.passed else plain(report.longreprtext)
        result = Result(item.unique_id, "pass" if report.passed else "fail", report.duration, message=message)
        item.config.stash[_RESULTS].append(result)
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the results of all cuts, if requested."""
    folder: Path | None = session.config.getoption("--run-results")
    if folder is not None:
        results = session.config.stash[_RESULTS]
        document = artifacts.run_results(results, sum(result.seconds for result in results))
        artifacts.write(folder, "run_results.json", document)


def _mode() -> SmallBatchMode:
    """The mode of tests that start Spark before they know a project."""
    return cast(SmallBatchMode, os.environ.get(SMALL_BATCHES_VARIABLE) or "auto")


class CaseFile(pytest.File):
    """One case."""

    def __init__(self, **rest: Any) -> None:
        super().__init__(**rest)
        self._landing, self._streaming = Lock(), Lock()

    def collect(self) -> Iterator[CaseItem]:
        try:
            found = self.case
        except HeadraceError as error:
            raise self.CollectError(str(error)) from None
        for cut in found.cuts:
            yield CaseItem.from_parent(self, name=f"[{cut}]", way=cut)
        for number, batch in enumerate(found.given):
            if batch.expect is not None:
                yield CaseItem.from_parent(self, name=f"[after batch {number + 1}]", way=number)
        for way in properties(found):
            yield CaseItem.from_parent(self, name=f"[{way}]", way=way)

    @cached_property
    def case(self) -> Case:
        """The case in the file."""
        project = _project(self.config, manifest.find_root(self.path.parent))
        return cases.read(project, self.path.relative_to(project.root).as_posix())

    @property
    def landed(self) -> Landed:
        """What lands, the same for each cut."""
        with self._landing:
            return self._landed

    @property
    def streamed(self) -> Outcome:
        """The outcome batch by batch, shared by all items."""
        with self._streaming:
            return self._streamed

    @cached_property
    def _streamed(self) -> Outcome:
        return outcome_of(sandbox_of(self.config), self.case, self.landed, "one-by-one", Random(0))

    @cached_property
    def _landed(self) -> Landed:
        return land(sandbox_of(self.config).judge, self.case.project, self.case.given, self.case.seeds)


class CaseItem(pytest.Item):
    """One case in one way: a cut, up to a batch that has an expectation, or a property."""

    def __init__(self, *, way: Cut | int | Property, **rest: Any) -> None:
        super().__init__(**rest)
        self.way = way
        self.add_marker("spark")
        self._found: Future[list[str]] | None = None

    @property
    def unique_id(self) -> str:
        """The name of this cut in run_results.json."""
        return f"{artifacts.test_id(self._file.case.project, self._file.case.path)}.{self.way}"

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
        sandbox, case, landed = sandbox_of(self.config), file.case, file.landed
        if self.way in get_args(Property):
            return _with_landing(broken(sandbox, case, landed, file.streamed, cast(Property, self.way), random), landed)
        if isinstance(self.way, int):
            case, landed = case.after(self.way), landed.up_to(self.way)
        cut = "one-by-one" if isinstance(self.way, int) else cast(Cut, self.way)
        streamed = self.way == "one-by-one" and any(properties(case))
        outcome = file.streamed if streamed else outcome_of(sandbox, case, landed, cut, random)
        return _with_landing(differences(case, landed, outcome), landed)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The differences or the findings; only errors that are not the case's have a traceback."""
        if not isinstance(excinfo.value, HeadraceError):
            return super().repr_failure(excinfo, style)
        text = f"{self._file.case.path} {self.name} --cut-seed {self._seed}\n\n{excinfo.value}"
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


def _with_landing(differences: Iterable[str], landed: Landed) -> list[str]:
    """Differences, if there are any, followed by what landed."""
    found = list(differences)
    return [*found, landing_report.describe(landed)] if found else []


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
        return Manifest().test_paths  # its errors are reported where the case is read


def _project(config: pytest.Config, root: Path) -> Project:
    projects = config.stash[_PROJECTS]
    if root not in projects:
        projects[root] = loader.load(root, config.getini("headrace_target"))
        config.stash[_SANDBOX].small_batches = projects[root].target.small_batches
    return projects[root]

"""Data tests over stored tables, as pytest items: each model file is a collection of its tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from headrace.checking import verdict
from headrace.errors import HeadraceError
from headrace.project.model import DataTest, Model, Project
from headrace.queries.datatests import counts, failing, marked
from headrace.queries.sources import Tables, plain
from headrace.spark.session import child

EXAMPLES = 5


class StoredTests:
    """The pytest plugin that runs the data tests of a project's models over all rows they have now."""

    def __init__(self, spark: SparkSession, project: Project) -> None:
        layout = project.target.layout
        self._session = child(spark, "test", project.macros)
        self._models = {project.root / model.path: model for model in project.models}
        self._tables = Tables(self._session, project, layout, verdict.schemas(spark, project))

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.File | None:
        """Take the files of models."""
        model = self._models.get(file_path)
        return ModelFile.from_parent(parent, path=file_path, model=model, tests=self) if model else None

    def judged(self, model: Model) -> DataFrame | None:
        """A model's rows, each with the names of the tests that it fails; None if nothing is stored yet."""
        if self._version(model.table) < 0:
            return None
        return marked(self._known(model.table), model.tests, self._known)

    def _known(self, table: str) -> DataFrame:
        return self._tables.as_of(plain(table), self._version(table))

    def _version(self, table: str) -> int:
        return self._tables.of(plain(table)).newest_version()


class ModelFile(pytest.File):
    """A model and the rows that it has."""

    def __init__(self, *, model: Model, tests: StoredTests, **rest: Any) -> None:
        super().__init__(**rest)
        self.model = model
        self._tests = tests

    def collect(self) -> Iterator[DataItem]:
        for test in self.model.tests:
            yield DataItem.from_parent(self, name=test.name, test=test)

    @cached_property
    def judged(self) -> DataFrame | None:
        """The rows with what each of them fails."""
        return self._tests.judged(self.model)

    @cached_property
    def failed(self) -> Mapping[str, int]:
        """How many rows fail each test, found in one pass."""
        return {} if self.judged is None else counts(self.judged)


class DataItem(pytest.Item):
    """One data test."""

    def __init__(self, *, test: DataTest, **rest: Any) -> None:
        super().__init__(**rest)
        self.test = test

    def runtest(self) -> None:
        file = self.parent
        assert isinstance(file, ModelFile)
        if file.judged is None:
            pytest.skip("nothing is stored yet")
        if not (number := file.failed.get(self.test.name, 0)):
            return
        rows = [row[0] for row in failing(file.judged, self.test.name).limit(EXAMPLES).collect()]
        message = "\n".join([f"{number} row{'s' if number > 1 else ''} of {file.model.table}, such as", *rows])
        if self.test.on_failure == "warn":
            pytest.xfail(message)
        raise HeadraceError(message)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The rows; only other errors have a traceback."""
        return str(excinfo.value) if isinstance(excinfo.value, HeadraceError) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        file = self.parent
        assert isinstance(file, ModelFile)
        return self.path, 0, f"{file.model.table} {self.name}"

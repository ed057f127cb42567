"""Tests of cuts as pytest items: each file of a stored model is a collection of one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from headrace.errors import HeadraceError
from headrace.project.model import Model, Project
from headrace.testing.cut_trials.report import describe
from headrace.testing.cut_trials.trial import EVENTS, PartTrial, parts
from headrace.testing.runs.sandbox import Sandbox

ALLOWED = "cut-dependent"


class CutTests:
    """The pytest plugin that tests stored models over made-up events in several cuts, and reports those not tested.

    With `strict` a model fails even if its header allows that it depends on the cut.
    """

    def __init__(
        self, project: Project, tables: Collection[str], seed: int, strict: bool = False, events: int = EVENTS
    ) -> None:
        self.project, self.seed, self.strict = project, seed, strict
        self.reached: dict[str, bool] = {}
        self.not_compared: dict[str, str] = {}
        self._sandbox = Sandbox(project.target.small_batches)
        self._trials = [PartTrial(self._sandbox, part, seed, events) for part in parts(project, tables)]
        self._models = {project.root / project.model(table).path: project.model(table) for table in tables}

    @property
    def paths(self) -> list[str]:
        """The files to be collected."""
        return [str(path) for path in self._models]

    def trial(self, table: str) -> PartTrial | None:
        """The trial that a model is part of; None if it reads no topic."""
        return next((trial for trial in self._trials if table in trial.part.tables), None)

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.File | None:
        """Take the files of the models."""
        model = self._models.get(file_path)
        return CutFile.from_parent(parent, path=file_path, model=model, tests=self) if model else None

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Report what was made up, and which models got no rows from it."""
        write = terminalreporter.write_line
        for trial in self._trials:
            if made := trial.made.total():
                write(
                    f"cuts, seed {self.seed}: {trial.usable.total()} of {made} made-up events of "
                    f"{', '.join(sorted(trial.made))} could be used"
                )
        for table, reason in sorted(self.not_compared.items()):
            write(f"not compared: {table}: {reason}")
        if missed := sorted(table for table, is_reached in self.reached.items() if not is_reached):
            write(f"not reached, no row in any cut: {', '.join(missed)}")

    def pytest_unconfigure(self) -> None:
        """End what was started."""
        self._sandbox.close()


class CutFile(pytest.File):
    """A stored model."""

    def __init__(self, *, model: Model, tests: CutTests, **rest: Any) -> None:
        super().__init__(**rest)
        self.model, self.tests = model, tests

    def collect(self) -> Iterator[CutItem]:
        yield CutItem.from_parent(self, name="[cuts]", model=self.model, tests=self.tests)


class CutItem(pytest.Item):
    """One model in several cuts."""

    def __init__(self, *, model: Model, tests: CutTests, **rest: Any) -> None:
        super().__init__(**rest)
        self._model, self._tests = model, tests

    def runtest(self) -> None:
        tests, table = self._tests, self._model.table
        trial = tests.trial(table)
        if trial is None:
            self._skip("no topic is behind it")
        found = [rows for _, rows in trial.rows(table)]
        if all(rows.failure for rows in found):
            self._skip(str(found[0].failure))
        tests.reached[table] = any(rows.rows or rows.changes for rows in found)
        if not any(rows.differs(found[0]) for rows in found):
            return
        if dropped := max(rows.dropped for rows in found):
            self._skip(f"{dropped} rows came too late, and which ones do depends on the cut")
        self._fail(trial)

    def _skip(self, reason: str) -> NoReturn:
        """Neither passed nor failed: reported in the summary."""
        self._tests.not_compared[self._model.table] = reason
        pytest.skip(reason)

    def _fail(self, trial: PartTrial) -> None:
        tests, model = self._tests, self._model
        difference = trial.difference(model.table)
        assert difference is not None, "rows differ"
        names = {topic.topic: topic.name for topic in trial.part.topics}
        text = describe(model, difference, names, tests.seed)
        if ALLOWED in model.allow and not tests.strict:
            pytest.xfail(f"allowed: {model.allow[ALLOWED]}\n{text}")
        raise HeadraceError(text)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The difference; only errors that are not the model's have a traceback."""
        return str(excinfo.value) if isinstance(excinfo.value, HeadraceError) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self._model.table} [cuts]"

"""headrace dead-letters: what it refuses before anything is judged again."""

from __future__ import annotations

import pytest

from headrace import cli
from headrace.errors import ExitCode
from headrace.store import lease
from headrace.store.layout import Layout
from tests.unit.conftest import ProjectFiles


def test_nothing_is_replayed_beside_a_runner(project_files: ProjectFiles, capsys: pytest.CaptureFixture[str]) -> None:
    layout = Layout(project_files.root / "data")
    with lease.held(layout), pytest.raises(SystemExit) as caught:
        cli.main(["-C", str(project_files.root), "dead-letters", "replay"])
    assert (caught.value.code, capsys.readouterr().err.count("\n")) == (ExitCode.INVALID, 1)


@pytest.mark.parametrize("words", [["rply"], ["list", "--source", "odd"]])
def test_unknown_word_is_code_2(
    project_files: ProjectFiles, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["-C", str(project_files.root), "dead-letters", *words])
    assert (caught.value.code, capsys.readouterr().err.count("\n")) == (ExitCode.USAGE, 1)

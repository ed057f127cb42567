"""The verdict on edits of the branches of a `union all`, without Spark; what truly happens is tested in tests/plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.corpus import Edit, edits_of, judged, project
from tests.plan.places import misplaced, obscure


@pytest.mark.parametrize("edit", edits_of("unions.yml"), ids=lambda edit: edit.title)
def test_edit_of_a_union_has_its_verdict_where_it_stands(edit: Edit, tmp_path: Path) -> None:
    old, new = (project(files, tmp_path / at) for at, files in (("old", edit.shape.files), ("new", edit.files)))
    outcome = judged(old, new, edit.shape.schemas, edit.shape.model)
    assert outcome.verdict.name == edit.verdict, outcome.reasons
    assert misplaced(outcome.reasons, edit.shape.files, edit.files) == obscure(outcome.reasons) == []

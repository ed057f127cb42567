"""What a reset would leave unsent, where Kafka has no record of what was sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from headrace.project import loader
from headrace.publishing import outstanding
from headrace.publishing.published_note import PublishedNote
from headrace.store.layout import Layout
from headrace.tables.delta import CommitTable
from tests.unit.plain_rows import ROWS, Plain

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("is_begun", "rows"), [(False, 0), (True, 4)], ids=["never published", "record is gone"])
def test_rows_without_a_record_are_history_only_where_nothing_was_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_begun: bool, rows: int
) -> None:
    project, layout = loader.load(ROOT, "test"), Layout(tmp_path)
    model = project.model("gold.shipment_ready")
    monkeypatch.setattr(outstanding, "existing", lambda kafka: {})
    table = CommitTable(cast(Any, None), layout.table(model.table), ROWS)
    table.create()
    for batch in range(2):
        table.append(Plain.of(batch), {"query": "q", "batch": batch, "rows": 2})
    if is_begun:
        PublishedNote(layout.root, model.name).note("headrace-progress")
    assert outstanding.outstanding(project, layout, model) == rows

"""Macros in the rules of a source and in what is published, as a run has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kafka.events import sale
from tests.kafka.oracle import SALES
from tests.kafka.sales import NOTIFICATIONS, sales
from tests.kafka.stage import Stage

pytestmark = pytest.mark.kafka

MACROS = {
    "is_tiny": "create temporary function is_tiny(amount bigint) returns boolean return below(amount, 10)",
    "below": "create temporary function below(amount bigint, least bigint) returns boolean return amount < least",
    "is_gone": "create temporary function is_gone(flag boolean, name string) returns boolean return flag or name = 'q'",
}


@pytest.mark.long
def test_macros_reject_records_and_make_tombstones(stage: Stage, tmp_path: Path) -> None:
    project = sales(stage, tmp_path / "project", 2000)
    for name, text in MACROS.items():
        (project.folder / f"macros/{name}.sql").write_text(text)
    with (project.folder / "sql/bronze/sales.yml").open("a") as file:
        file.write("    reject: {tiny: is_tiny(value)}\n")
    news = project.folder / "sql/gold/sales/sales_notifications.sql"
    text = news.read_text().replace(
        "tombstone_when: is_retraction", "tombstone_when: 'is_gone(is_retraction, product)'"
    )
    news.write_text(text)
    stage.create({SALES: 1})
    stage.send([sale("p", 2500), sale("p", 5), sale("q", 2600)])
    assert stage.failures("sales", project=project.project) == ()
    assert [row["reject_reason"] for row in stage.rows("bronze.dead_letters")] == ["tiny"]
    assert [(record.key, record.value) for record in stage.committed(NOTIFICATIONS)] == [
        ("p", {"product": "p", "value": 2500}),
        ("q", None),
    ]

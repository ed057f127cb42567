"""A query whose table cannot be opened fails alone: the others start and continue."""

from __future__ import annotations

import pytest
from deltalake import DeltaTable

from headrace.store.layout import Layout
from tests.kafka.events import made, order, sale
from tests.kafka.sales import sent
from tests.kafka.stage import Stage

pytestmark = pytest.mark.kafka


def test_others_start_without_a_query_whose_table_cannot_be_opened(stage: Stage) -> None:
    stage.process_all()
    table = DeltaTable(Layout(stage.data_dir).table("gold.shipment_ready"))
    table.alter.set_table_properties({"delta.enableChangeDataFeed": "true"})  # raises the protocol
    stage.send([sale("p", 9000), order("o", 1), made("o", 1)])
    failed = {failure.task: failure.cause for failure in stage.failures()}
    assert failed.keys() == {"shipping"}
    assert "features that headrace does not write" in failed["shipping"]
    assert ([row["key"] for row in stage.rows("bronze.orders")], sent(stage)) == (["o"], [("p", 9000)])


@pytest.mark.long
def test_others_start_without_a_landing_whose_table_cannot_be_opened(stage: Stage) -> None:
    DeltaTable(Layout(stage.data_dir).landing("shipping")).alter.set_table_properties(
        {"delta.enableChangeDataFeed": "true"}
    )
    stage.send([sale("q", 9000)])
    assert {failure.task for failure in stage.failures()} == {"ingest_shipping", "shipping"}
    assert sent(stage) == [("p", 9000), ("q", 9000)]

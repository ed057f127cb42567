"""Made-up sales."""

import json
from itertools import islice

from headrace.demo.records import Record, fresh_run_id
from headrace.demo.sales import deletion, demo, event


def some(run_id: str = "r", seed: int = 1) -> list[Record]:
    return list(islice(demo(run_id, seed), 200))


def values(records: list[Record]) -> list[int]:
    return [json.loads(record.value or "")["value"] for record in records]


def test_event_has_the_topics_fields() -> None:
    assert event("tea", 5) == Record("sales-events-v1", "tea", '{"product": "tea", "value": 5}')


def test_deletion_is_a_tombstone() -> None:
    assert deletion("tea") == Record("sales-events-v1", "tea", None)


def test_same_seed_same_records() -> None:
    assert some() == some()


def test_other_seed_other_records() -> None:
    assert some(seed=1) != some(seed=2)


def test_other_run_has_other_products() -> None:
    assert not {record.key for record in some("r1")} & {record.key for record in some("r2")}


def test_totals_also_fall() -> None:
    assert min(values(some())) < 0 < sum(values(some()))


def test_run_ids_differ() -> None:
    assert fresh_run_id() != fresh_run_id()

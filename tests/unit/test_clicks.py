"""Made-up visits to product pages."""

import json
from collections import Counter
from itertools import islice

import pytest

from headrace.commands.producing import _one_click
from headrace.demo.clicks import NAMES, demo, name, verified, view
from headrace.demo.records import Record
from headrace.errors import UsageError


def some(run_id: str = "r", seed: int = 1) -> list[Record]:
    return list(islice(demo(run_id, seed), 300))


def lines(records: list[Record]) -> list[dict[str, object]]:
    return [json.loads(record.value or "") for record in records if record.topic == "logs"]


def test_same_seed_same_records() -> None:
    assert some() == some()


def test_other_seed_other_records() -> None:
    assert some(seed=1) != some(seed=2)


def test_other_run_has_other_browsers_and_products() -> None:
    def own(run_id: str) -> set[object]:
        return {line.get(key) for line in lines(some(run_id)) for key in ("browserHash", "productId")} - {None}

    assert not own("r1") & own("r2")


def test_products_are_named_first() -> None:
    named = some()[: len(NAMES)]
    assert {record.topic for record in named} == {"products"}
    assert {int(record.key or "") for record in named} >= {line.get("productId") for line in lines(some())} - {None}


def test_some_browsers_view_often_and_some_are_verified() -> None:
    events = lines(some())
    views = Counter(line["browserHash"] for line in events if str(line["logger_name"]).endswith(".ViewProductEvent"))
    assert max(views.values()) >= 5
    assert any(str(line["logger_name"]).endswith(".BrowserCaptchaVerified") for line in events)


@pytest.mark.parametrize(
    ("words", "record"),
    [
        (("view", "b", "7"), view("b", 7)),
        (("verified", "b"), verified("b")),
        (("name", "7", "Pen"), name(7, "Pen")),
        (("name", "7"), Record("products", "7", None)),
    ],
)
def test_one_event_is_written_in_words(words: tuple[str, ...], record: Record) -> None:
    assert _one_click(words) == record


@pytest.mark.parametrize(
    "words", [("view", "b"), ("view", "b", "pen"), ("verified",), ("name", "7", "a", "b"), ("look",)]
)
def test_other_words_are_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        _one_click(words)

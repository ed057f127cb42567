"""The verdict on landed records: hand-written, with every set of faults, and random ones against an oracle."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from random import Random

import pytest
from pyspark.sql import SparkSession

from headrace.landing.body import REASONS
from headrace.project.declarations import event_times
from headrace.project.declarations.event_times import SqlTime
from headrace.project.model import Topic
from headrace.spark import session
from tests.long import long, one_of
from tests.spark.json_cases import (
    ANY,
    CASES,
    EVENT_TIMES,
    ISO,
    LOOSE,
    MICROS,
    MILLIS,
    NEEDY,
    RATIO,
    ROW,
    RULED,
    SECONDS,
    THING,
    Case,
    topic,
)
from tests.spark.json_mutations import records
from tests.spark.json_oracle import Opinion, Oracle, Rule
from tests.spark.judging import LANDED_AT, Record, Verdict, judge

pytestmark = pytest.mark.spark

SEED = int(os.environ.get("HEADRACE_TEST_SEED") or Random().randrange(10**6))
DOCUMENTS = 1_000
"""Random documents per topic."""

FAULTY = topic(
    *("faulty", "id string!", "n int", "seen timestamp", "at timestamp", "one int", "two int"),
    event_time="at",
    reject=(("first_rule", "one = 1"), ("second_rule", "two = 1")),
)
SOUND = {"id": '"a"', "n": "1", "seen": '"2026-01-31"', "at": '"2026-01-31"', "one": "0", "two": "0"}
FAULTS: Mapping[str, Mapping[str, str | None]] = {
    "not_json": {"broken": "x"},
    "missing_field": {"id": None},
    "wrong_type": {"n": '"1"'},
    "duplicate_field": {"twice": '1, "twice": 1'},
    "bad_timestamp": {"seen": '"soon"'},
    "time_out_of_range": {"at": '"1999-12-31"'},
    "first_rule": {"one": "1"},
    "second_rule": {"two": "1"},
}
"""What each fault changes in a sound record; all can be combined."""

KEYS = {None: b"a", "null_key": None, "bad_key": b"\xff"}
ORDER = (*REASONS, "first_rule", "second_rule")

ORDERS = topic(
    *("orders", "id string!", "orderDate timestamp", "items array<struct<id: bigint, name: string>>!"),
    event_time="orderDate",
    reject=(("key_mismatch", "id <> key"), ("empty_order", "size(items) = 0")),
)
SALES = topic("sales", "product string", "value bigint!", null_value=True)
EITHER = topic(
    *("either", "id string!", "n bigint", "day date", "list array<int>"),
    reject=(("missing_field", "list is null and (n is null or day is null)"),),
    null_key=True,
)
FUZZED: Mapping[Topic, Mapping[str, Rule]] = {
    ORDERS: {
        "key_mismatch": lambda key, order: order["id"] != key,
        "empty_order": lambda key, order: not order["items"],
    },
    RULED: {
        "key_mismatch": lambda key, row: row["id"] not in (None, key),
        "too_small": lambda key, row: bool(row["n"]) and 10 / row["n"] > 5,
        "no_number": lambda key, row: row["id"] == "7",
    },
    EITHER: {
        "missing_field": lambda _, row: row.get("list") is None and None in (row.get("n"), row.get("day")),
    },
    **{t: {} for t in (SALES, THING, LOOSE, NEEDY, ISO, MILLIS, MICROS, SECONDS, ANY, ROW, RATIO)},
    **{topic(f"bare_{i}", scalar=ddl): {} for i, ddl in enumerate(("bigint", "string", "decimal(10,2)", "timestamp"))},
}


@pytest.fixture(scope="module")
def landing(spark: SparkSession) -> SparkSession:
    """A session as a landing has it for a small batch."""
    child = session.child(spark, "classify")
    session.tune(child, 1)
    return child


@pytest.fixture(scope="module", params=[False, True], ids=["at-once", "quick-check"])
def judged(request: pytest.FixtureRequest, landing: SparkSession) -> Mapping[str, Verdict]:
    """The verdicts on all hand-written records, by name."""
    named = [(case.topic, case.name, case.record) for case in CASES]
    named += [(kind, f"event_time_{name}", record) for name, kind, record, _ in EVENT_TIMES]
    found: dict[str, Verdict] = {}
    for kind in dict.fromkeys(kind for kind, _, _ in named):
        of_kind = {name: record for other, name, record in named if other is kind}
        found.update(zip(of_kind, judge(landing, kind, [*of_kind.values()], request.param), strict=True))
    return found


@pytest.fixture(scope="module", params=[1, long(session.SMALL_BATCH_ROWS + 1)], ids=["interpreted", "compiled"])
def fuzzed(request: pytest.FixtureRequest, landing: SparkSession) -> Iterator[list[tuple[Topic, Record, Verdict]]]:
    """Random records and the verdicts on them, planned as a batch of some size is."""
    print(f"HEADRACE_TEST_SEED={SEED}")
    session.tune(landing, request.param)
    yield [found for kind in FUZZED for found in _fuzzed(landing, kind, request.param > session.SMALL_BATCH_ROWS)]
    session.tune(landing, 1)


def test_cases_have_names_of_their_own():
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", one_of(6, CASES), ids=lambda case: f"{case.reason or 'usable'}-{case.name}")
def test_record_by_hand(judged: Mapping[str, Verdict], case: Case):
    verdict = judged[case.name]
    assert (verdict.reason, verdict.data) == (case.reason, case.data)


def test_key_that_means_nothing_is_kept_as_it_came(judged: Mapping[str, Verdict]):
    verdict = judged["key_of_any_kind"]
    assert (verdict.key, verdict.key_bytes) == ("\0\0\0\N{REPLACEMENT CHARACTER}", bytes([0, 0, 0, 200]))


@pytest.mark.parametrize(("name", "expected"), [(name, moment) for name, _, _, moment in EVENT_TIMES])
def test_event_time_by_hand(judged: Mapping[str, Verdict], name: str, expected):
    assert judged[f"event_time_{name}"].event_time == expected.replace(tzinfo=None)


def test_first_of_several_faults_is_reported(landing: SparkSession):
    expected = [*_combinations()]
    verdicts = judge(landing, FAULTY, [record for record, _ in expected])
    wrong = [(r, reason, v.reason) for (r, reason), v in zip(expected, verdicts, strict=True) if v.reason != reason]
    assert not wrong


def test_rule_may_make_a_struct(landing: SparkSession):
    structured = topic("structured", "id string!", "seen timestamp", reject=(("odd", "struct(id, seen).id = key"),))
    found = judge(landing, structured, [Record(b'{"id": "k"}'), Record(b'{"id": "z"}')])
    assert [verdict.reason for verdict in found] == ["odd", None]


def test_second_opinion_knows_the_cases_by_hand(landing: SparkSession):
    known = [case for case in CASES if not isinstance(event_times.of(case.topic), SqlTime)]  # it knows no SQL
    opinions = [(case, _opinion(case.topic, case.record)) for case in known]
    wrong = [(case, o) for case, o in opinions if case.reason not in o.reasons or case.data != o.data]
    assert not wrong


def test_random_records_are_judged_as_by_the_second_opinion(fuzzed: Sequence[tuple[Topic, Record, Verdict]]):
    wrong = [(record, verdict) for kind, record, verdict in fuzzed if not _agrees(_opinion(kind, record), verdict)]
    assert not wrong, f"HEADRACE_TEST_SEED={SEED}"


def test_random_records_are_of_every_sort(fuzzed: Sequence[tuple[Topic, Record, Verdict]]):
    assert {verdict.reason for _, _, verdict in fuzzed} >= {None, *REASONS, *FUZZED[ORDERS]} - {"too_large"}


def test_whatever_lands_is_kept_as_it_was(fuzzed: Sequence[tuple[Topic, Record, Verdict]]):
    wrong = [(record, verdict) for _, record, verdict in fuzzed if not _is_preserved(record, verdict)]
    assert not wrong


def _combinations() -> Iterator[tuple[Record, str | None]]:
    """Every set of faults that one record can have, and the expected reason."""
    for key, raw in KEYS.items():
        yield Record(None, raw), "null_key" if key == "null_key" else "null_value"
        for chosen in product((False, True), repeat=len(FAULTS)):
            faults = [fault for fault, is_chosen in zip(FAULTS, chosen, strict=True) if is_chosen]
            yield Record(_faulty(faults), raw), min([*faults, *filter(None, [key])], key=ORDER.index, default=None)


def _faulty(faults: Iterable[str]) -> bytes:
    members: dict[str, str | None] = dict(SOUND)
    for fault in faults:
        members |= FAULTS[fault]
    written = ", ".join(f'"{name}": {text}' for name, text in members.items() if text)
    return f"{{{written}}}".encode()


def _fuzzed(landing: SparkSession, kind: Topic, many: bool) -> Iterator[tuple[Topic, Record, Verdict]]:
    made = records(kind, DOCUMENTS, Random(f"{SEED} {kind.name}"))
    return ((kind, record, verdict) for record, verdict in zip(made, judge(landing, kind, made, many), strict=True))


def _opinion(kind: Topic, record: Record) -> Opinion:
    return Oracle(kind, FUZZED.get(kind, {})).judge(record.key, record.value, record.timestamp, LANDED_AT)


def _agrees(opinion: Opinion, verdict: Verdict) -> bool:
    moment = opinion.event_time and opinion.event_time.replace(tzinfo=None)
    return verdict.reason in opinion.reasons and (verdict.event_time, verdict.data) == (moment, opinion.data)


def _is_preserved(record: Record, verdict: Verdict) -> bool:
    """The original text, or the bytes beside text that was made valid."""
    pairs = [(record.key, verdict.key, verdict.key_bytes), (record.value, verdict.value, verdict.value_bytes)]
    return all(
        raw == (None if text is None else text.encode() if original is None else original)
        for raw, text, original in pairs
    )

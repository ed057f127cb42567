"""Where the reasons of a plan stand if several edits meet, and what they say of the way to the reader."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from headrace.planning.plan import Entry
from tests.plan.live import FILES, NEWS, NEWS_FILE, TOTALS, TOTALS_FILE, Live

VIEW, MANIFEST, MACRO, SOURCES = "sql/silver/s/a.sql", "manifest.yml", "macros/twice.sql", "sql/bronze/s.yml"
KEY = "unique_key: id\n"
BIG = NEWS.replace("total > 10", "twice(total) > :least")


@pytest.fixture
def live(tmp_path: Path) -> Live:
    made = Live(tmp_path, {**FILES, NEWS_FILE: BIG})
    made.start()
    return made


def entry(live: Live, table: str, edits: Mapping[str, tuple[str, str]]) -> Entry:
    files = {**FILES, NEWS_FILE: BIG}
    edited = {path: files[path].replace(old, new) for path, (old, new) in edits.items()}
    assert all(edited[path] != files[path] for path in edits)
    return live.entry(table, live._load({**files, **edited}))


def placed(found: Entry, word: str) -> str:
    """Where the reason stands whose message has a word, without the column."""
    (place,) = {f"{each.place.path}:{each.place.line}" for each in found.reasons if word in each.message}
    return place


def test_each_of_two_edits_has_its_reason(live: Live) -> None:
    text = TOTALS.replace("sum(a.x)", "sum(a.x * 2)").replace("silver.a\n", "silver.a where x > 3\n")
    found = entry(live, "silver.totals", {TOTALS_FILE: (TOTALS, text)})
    assert (placed(found, "column total"), placed(found, "other rows")) == (f"{TOTALS_FILE}:17", f"{TOTALS_FILE}:8")


def test_own_edit_is_named_before_one_that_is_read(live: Live) -> None:
    edits = {TOTALS_FILE: ("sum(a.x)", "sum(a.x * 2)"), VIEW: ("data.x as x", "data.y as x")}
    assert placed(entry(live, "silver.totals", edits), "column total") == f"{TOTALS_FILE}:17"


@pytest.mark.parametrize(
    ("table", "file", "old", "new", "line", "through"),
    [
        ("silver.totals", VIEW, "data.x as x", "data.y as x", 4, f"silver.a ({TOTALS_FILE}:8)"),
        ("gold.news", MANIFEST, "least: 1", "least: 2", 3, "the variable least"),
        ("gold.news", MACRO, "v * 2", "v * 3", 1, "the macro twice"),
        ("silver.totals", SOURCES, "x: bigint", "x: int", 5, f"silver.a ({TOTALS_FILE}:8)"),
    ],
)
def test_edit_and_the_way_to_its_reader_are_told(
    live: Live, table: str, file: str, old: str, new: str, line: int, through: str
) -> None:
    reason = entry(live, table, {file: (old, new)}).first
    assert reason is not None
    assert (reason.place.path, reason.place.line) == (file, line)
    assert reason.message.endswith(f"; read here through {through}")


def test_table_that_a_model_names_itself_is_told_once(live: Live) -> None:
    reason = entry(live, "gold.news", {TOTALS_FILE: ("sum(a.x)", "sum(a.x * 2)")}).first
    assert reason is not None
    assert (reason.place.path, reason.place.line) == (TOTALS_FILE, 17)
    told = f"silver.totals ({NEWS_FILE}:7), which it reads, also has rows by the old text"
    assert reason.message == told


def test_key_that_is_gone_stood_where_the_reason_does(live: Live) -> None:
    text = BIG.replace("materialized: append\n", "materialized: append\nonce_per: id\ntags: [t]\n")
    live.start(live._load({**FILES, NEWS_FILE: text}))
    found = live.entry("gold.news", live._load({**FILES, NEWS_FILE: BIG}))
    assert placed(found, "left out by the old key") == f"{NEWS_FILE}:4"


def test_setting_of_a_folder_stands_in_the_manifest(live: Live) -> None:
    found = entry(live, "silver.totals", {MANIFEST: ("{+materialized", "{+on_error: dead_letter, +materialized")})
    assert (placed(found, "rows that fail"), found.first and found.first.place.column) == ("manifest.yml:5", 12)


def test_edit_of_a_source_stands_at_its_key(live: Live) -> None:
    old, new = "    event_time: at\n  b:", "    event_time: at\n    reject: {odd: x = 1}\n  b:"
    found = entry(live, "bronze.a", {SOURCES: (old, new)})
    assert placed(found, "judged as declared now") == f"{SOURCES}:7"


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("x: bigint, y: bigint, at: timestamp}", "x: bigint not null, y: bigint, at: timestamp}", 5),
        ("    event_time: at\n  b:", "  b:", 5),
        ("    event_time: at\n  b:", "    event_time: at\n    idle_after: 60\n  b:", 7),
    ],
)
def test_reason_stands_where_a_source_was_edited(live: Live, old: str, new: str, line: int) -> None:
    text = FILES[SOURCES].replace(old, new, 1)
    reasons = entry(live, "bronze.a", {SOURCES: (FILES[SOURCES], text)}).reasons
    assert (SOURCES, line) in {(each.place.path, each.place.line) for each in reasons}
    assert all(each.place.line > 4 for each in reasons)  # below the line of the source itself


def test_name_that_a_target_has_for_a_topic_stands_in_conf(live: Live) -> None:
    conf = "kafka: {bootstrap: embedded, topics: {a: real_a, news: real_news}}\n"
    edited = live._load({**FILES, NEWS_FILE: BIG, "conf/test.yml": conf})
    found = [live.entry("bronze.a", edited), live.entry("gold.news", edited)]
    assert [placed(each, word) for each, word in zip(found, ("two topics", "were sent"), strict=True)] == [
        "conf/test.yml:1"
    ] * 2


def test_readers_of_readers_are_told_where_the_edit_is(tmp_path: Path) -> None:
    reader = (
        "/*\nNews again: one row per change.\n\nmaterialized: append\n*/\nselect id, _arrival from stream gold.news\n"
    )
    live = Live(tmp_path, {**FILES, "sql/gold/s/again.sql": reader})
    live.start()
    first = live.entry("gold.again", live.edited(TOTALS_FILE, KEY, f"{KEY}delete_when: total > 9\n")).first
    assert first is not None
    assert (first.place.path, first.place.line) == (TOTALS_FILE, 6)


def test_macro_that_takes_the_name_of_a_function_is_blamed(live: Live) -> None:
    text = "create temporary function coalesce(v bigint) returns bigint return v\n"
    first = live.entry("silver.totals", live._load({**FILES, NEWS_FILE: BIG, "macros/coalesce.sql": text})).first
    assert first is not None
    assert (first.verdict.name, str(first.place)) == ("RESET", "macros/coalesce.sql:1:1")

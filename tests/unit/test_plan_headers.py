"""What edits of a header mean that leave the query as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.live import FILES, NEWS, NEWS_FILE, TOTALS, TOTALS_FILE, Live

KEY = "unique_key: id\n"
TESTS = "tests: {columns: {id: [not_null]}, rows: {small: {expression: total < 10, on_failure: dead_letter}}}\n"


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("Running totals", "Running\ntotals", "SAME"),
        (KEY, f"{KEY}extra_columns: refuse\ncolumns: {{id: string, total: bigint}}\n", "SAME"),
        (KEY, f"{KEY}tags: [money]\nowner: ada\n", "SAME"),
        (KEY, "unique_key: [id, _arrival]\n", "RESET"),
        (KEY, f"{KEY}max_state_bytes: 5000\n", "FORWARD"),
        (KEY, f"{KEY}max_state_bytes: 5000000\n", "FORWARD"),
        ("[not_null]", "[not_null, unique]", "KEEP"),
        ("small:", "tiny:", "KEEP"),
        ("total < 10", "total < 11", "FORWARD"),
        ("dead_letter", "warn", "FORWARD"),
        (TESTS, "", "FORWARD"),
    ],
)
def test_edited_header_has_its_verdict(tmp_path: Path, old: str, new: str, verdict: str) -> None:
    live = Live(tmp_path, {**FILES, TOTALS_FILE: TOTALS.replace(KEY, KEY + TESTS)})
    live.start()
    assert live.entry("silver.totals", live.edited(TOTALS_FILE, old, new)).verdict == verdict


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("total > 5 and id > 'a'", "id > 'a' and 5 < total", "SAME"),
        ("total | 2 & 1 > 0", "(total | 2) & 1 > 0", "MIX"),
        ("id || total + 1 = 'a2'", "id || (total + 1) = 'a2'", "MIX"),
        ("total * 2 > 5 and total < 9", "total < 9 and total * 2 > 5", "MIX"),
        ("total > 5 and id > 1", "id > 1 and total > 5", "MIX"),
        ("total > 5 and total % 2 = 0", "total % 2 = 0 and total > 5", "SAME"),
        ("total between 1 and 5", "not (total > 5) and total >= 1", "SAME"),
        ("twice(total) > 9", "total * 2 > 9", "SAME"),
        ("total > 9", "coalesce(total > 9, false)", "SAME"),
        ("total > 9", "coalesce(total > 9, true)", "MIX"),
        ("id || total + 1 = 'a2'", "id||total + 1 = 'a2'", "SAME"),
        ("cast(id as timestamp) is null", "cast(id as timestamp without time zone) is null", "MIX"),
    ],
)
def test_rule_that_spark_may_read_otherwise_is_another(tmp_path: Path, old: str, new: str, verdict: str) -> None:
    live = Live(tmp_path, {**FILES, TOTALS_FILE: TOTALS.replace(KEY, f"{KEY}delete_when: {old}\n")})
    live.start()
    assert live.entry("silver.totals", live.edited(TOTALS_FILE, old, new)).verdict == verdict


SOURCES = "sql/bronze/s.yml"


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("x = 1 or k > 5", "k > 5 or x = 1", "FORWARD"),
        ("x = 1 or y > 5", "y > 5 or x = 1", "SAME"),
        ("x > 1", "not (data.X <= 1)", "SAME"),
        ("at > timestamp '2030-01-01' + interval 1 day", "at > timestamp '2030-01-01' + interval 24 hours", "SAME"),
        ("key <> k", "not (key <=> k)", "FORWARD"),
        ("topic <> k", "partition <> k", "FORWARD"),
    ],
)
def test_rule_of_a_source_is_judged_by_what_it_means(tmp_path: Path, old: str, new: str, verdict: str) -> None:
    fields = "    event_time: at\n"
    text = FILES[SOURCES].replace(fields, f'{fields}    reject:\n      bad: "{old}"\n', 1)
    live = Live(tmp_path, {**FILES, SOURCES: text})
    live.start()
    assert live.entry("bronze.a", live.edited(SOURCES, old, new)).verdict == verdict


@pytest.mark.parametrize(
    "key", ["materialized: append\nonce_per: [id, total]", "materialized: upsert\nunique_key: [id, total]"]
)
def test_order_of_a_key_does_not_matter(tmp_path: Path, key: str) -> None:
    live = Live(tmp_path, {**FILES, NEWS_FILE: NEWS.replace("materialized: append", key)})
    live.start()
    assert live.entry("gold.news", live.edited(NEWS_FILE, "[id, total]", "[total, id]")).verdict == "SAME"


@pytest.mark.parametrize(("test", "verdict"), [("unique", "FORWARD"), ("not_null", "KEEP")])
def test_order_of_tests_counts_where_one_repeated_row_hides_another(tmp_path: Path, test: str, verdict: str) -> None:
    tests = [f"{column}: [{{{test}: {{on_failure: dead_letter}}}}]" for column in ("id", "total")]
    news = NEWS.replace("publish:", f"tests: {{columns: {{{', '.join(tests)}}}}}\npublish:")
    live = Live(tmp_path, {**FILES, NEWS_FILE: news})
    live.start()
    edited = live.edited(NEWS_FILE, ", ".join(tests), ", ".join(tests[::-1]))
    assert live.entry("gold.news", edited).verdict == verdict


def test_rows_that_will_leave_a_table_are_announced(tmp_path: Path) -> None:
    live = Live(tmp_path)
    live.start()
    found = live.entry("gold.news", live.edited(NEWS_FILE, "publish:", "keep: 36h\nkeep_history: 7d\npublish:"))
    assert (found.verdict, found.first and "leave 1.5 days after" in found.first.message) == ("KEEP", True)


def test_another_column_that_is_sent_is_reported(tmp_path: Path) -> None:
    live = Live(tmp_path, {**FILES, NEWS_FILE: NEWS.replace("{total: total}", "{json: id}")})
    live.start()
    assert live.entry("gold.news", live.edited(NEWS_FILE, "{json: id}", "{json: total}")).verdict == "KEEP"


def test_another_topic_leaves_readers_of_the_rows_alone(tmp_path: Path) -> None:
    reader = (
        "/*\nSums of news: one row per change.\n\nmaterialized: append\n*/\nselect id, _arrival from stream gold.news\n"
    )
    live = Live(tmp_path, {**FILES, "sql/gold/s/sums.sql": reader})
    live.start()
    edited = live.edited(NEWS_FILE, "topic: news", "topic: others")
    assert [live.entry(name, edited).verdict for name in ("gold.news", "gold.sums")] == ["FORWARD", "SAME"]


def test_layout_of_a_macro_in_a_rule_does_not_matter(tmp_path: Path) -> None:
    live = Live(tmp_path, {**FILES, TOTALS_FILE: TOTALS.replace(KEY, f"{KEY}delete_when: twice(total) > 9\n")})
    live.start()
    macro = live.edited("macros/twice.sql", "return v * 2", "return -- both\n v * 2")
    other = live.edited("macros/twice.sql", "return v * 2", "return v * 3")
    assert [live.entry("silver.totals", each).verdict for each in (macro, other)] == ["SAME", "MIX"]

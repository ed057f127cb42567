"""Plans of whole projects: what is live is what a start has recorded, and tables that exist."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from headrace import cli, usercache
from headrace.commands.edits import planning
from headrace.errors import InvalidProject, Place, UsageError
from headrace.planning import comparison, declared, known, plan
from headrace.planning.declared import Declared, Schemas
from headrace.planning.plan import Entry, Plan
from headrace.planning.settings import edited_topic_columns, topic_reasons
from headrace.planning.verdict import Reason, Verdict
from headrace.project.declarations.targets.references import DATA_DIR_VARIABLE
from headrace.project.model import Macro, Project, Seed, Topic
from tests.plan import corpus
from tests.plan.live import FILES, NEWS, NEWS_FILE, SCHEMAS, TOTALS, TOTALS_FILE, Live


@pytest.fixture
def live(tmp_path: Path) -> Live:
    made = Live(tmp_path)
    made.start()
    return made


STRANGE = NEWS.replace("materialized:", "allow: {cut-dependent: these rows are never looked at}\nmaterialized:")
"""What may take so many rows of a batch, which no plan understands."""


def verdicts(found: Plan) -> dict[str, str]:
    return {entry.name: entry.verdict for entry in found.entries}


def test_comment_costs_no_analysis(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    edited = live.edited(TOTALS_FILE, "before as (", "-- what was counted\nbefore as (")
    monkeypatch.setattr(comparison, "lower", lambda *_: pytest.fail("a query was analysed"))
    assert verdicts(live.plan(edited)) == verdicts(live.plan(live.project))


def test_what_never_ran_is_new(tmp_path: Path) -> None:
    assert set(verdicts(Live(tmp_path).plan()).values()) == {"NEW"}


def test_untouched_project_is_the_same(live: Live) -> None:
    assert set(verdicts(live.plan()).values()) == {"SAME"}


def test_untouched_project_is_the_same_after_an_upgrade(live: Live) -> None:
    (file,) = live.layout.declared.glob("*.json")
    written = json.loads(file.read_text())
    del written["settings"]  # as written before these were recorded
    file.write_text(json.dumps(written))
    conf = {**FILES, "conf/test.yml": "kafka: {bootstrap: embedded}\nspark: {conf: {spark.sql.ansi.enabled: false}}\n"}
    assert set(verdicts(live.plan(live._load(conf))).values()) == {"SAME"}


def test_date_in_a_variable_is_the_same_after_it_was_recorded(live: Live) -> None:
    files = {**FILES, NEWS_FILE: NEWS.replace("> 10", "> 10 and _arrival is not null and id <> :day")}
    files["manifest.yml"] = FILES["manifest.yml"].replace("least: 1", "least: 1, day: 2026-01-01")
    live.start(live._load(files))
    assert verdicts(live.plan(live._load(files)))["gold.news"] == "SAME"
    renamed = {**files, NEWS_FILE: files[NEWS_FILE].replace("select id", "SELECT id")}
    quoted = {**files, "manifest.yml": files["manifest.yml"].replace("2026-01-01", "'2026-01-01'")}
    assert [verdicts(live.plan(live._load(each)))["gold.news"] for each in (renamed, quoted)] == ["SAME", "KEEP"]


def test_reset_query_is_new(live: Live) -> None:
    live.forget("totals")
    assert verdicts(live.plan())["silver.totals"] == "NEW"


def test_reason_stands_where_the_clause_does(live: Live) -> None:
    entry = live.entry("silver.totals", live.edited(TOTALS_FILE, "sum(a.x)", "sum(a.x * 2)"))
    assert entry.first is not None
    assert (entry.verdict, entry.first.place) == ("MIX", Place(TOTALS_FILE, 17, 19))


def test_reason_stands_in_the_view_that_was_edited(live: Live) -> None:
    entry = live.entry("silver.totals", live.edited("sql/silver/s/a.sql", "data.x as x", "data.y as x"))
    assert entry.first is not None
    assert (entry.verdict, entry.first.place.path, entry.first.place.line) == ("MIX", "sql/silver/s/a.sql", 4)


def test_readers_of_mixed_rows_go_forward(live: Live) -> None:
    found = live.plan(live.edited(TOTALS_FILE, "sum(a.x)", "sum(a.x * 2)"))
    assert verdicts(found)["gold.news"] == "FORWARD"


def test_arrival_of_rows_that_are_read_back_is_mixed(live: Live) -> None:
    behind = "struct(a._arrival.landing_batch + 1 as landing_batch) as _arrival"
    edited = live.edited(TOTALS_FILE, "total,\n        a._arrival", f"total,\n        {behind}")
    assert live.entry("silver.totals", edited).verdict == "MIX"


def test_constant_that_another_filter_looks_up_is_another_in_state(live: Live) -> None:
    header = "/*\nAnswers: one row per id.\n\nmaterialized: upsert\nunique_key: id\n*/\n"
    answers = f"{header}select id, y, _arrival from stream silver.b"
    totals = TOTALS.replace("sum(a.x)", "sum(a.x * coalesce(f.factor, 1))").replace(
        "from a\n", "from a\n    left join (select id, 2 as factor from silver.d where y > 1) as f on f.id = a.id\n"
    )
    files = {**FILES, "sql/silver/s/d.sql": answers, TOTALS_FILE: totals}
    live.start(live._load(files))
    edited = {**files, TOTALS_FILE: files[TOTALS_FILE].replace("y > 1", "y > 2")}
    assert live.entry("silver.totals", live._load(edited)).verdict == "MIX"


def test_new_table_that_is_looked_up_has_no_past(live: Live) -> None:
    names = "/*\nNames: one row per record.\n\nmaterialized: append\n*/\nselect k, _arrival from stream silver.b"
    looked_up = "from stream silver.totals left semi join (select k from silver.names) as n on n.k = id"
    files = {"sql/silver/s/names.sql": names, NEWS_FILE: NEWS.replace("from stream silver.totals", looked_up)}
    assert live.entry("gold.news", live._load({**FILES, **files})).verdict == "FORWARD"


def test_rows_of_an_edit_that_only_another_query_has_run_are_told(live: Live) -> None:
    looked_up = NEWS.replace("total > 10", "total > 10 and id in (select id from silver.totals)")
    files = {**FILES, NEWS_FILE: looked_up.replace("publish:", "allow: {cut-dependent: as it is}\npublish:")}
    live.start(live._load(files))
    total = {TOTALS_FILE: TOTALS.replace("a.id,", "lower(a.id) as id,")}
    declared.write(live.layout, Declared.of(live._load({**files, **total}), SCHEMAS), ["totals"], {})
    taken_back = live.plan(live._load(files))
    assert (verdicts(taken_back)["silver.totals"], verdicts(taken_back)["gold.news"]) == ("MIX", "FORWARD")


@pytest.mark.parametrize(("field", "verdict"), [("Sum", "RESET"), ("sum", "SAME")])
def test_field_that_is_spelled_otherwise_does_not_fit(live: Live, field: str, verdict: str) -> None:
    spelled = {**FILES, NEWS_FILE: NEWS.replace("id, total,", "id, struct(total as sum) as total,")}
    types = {"gold.news": {**SCHEMAS["gold.news"], "total": f"struct<{field}:bigint>"}}
    queries = [query.name for query in live.project.queries]
    stored = {"gold.news": {**SCHEMAS["gold.news"], "total": "struct<sum:bigint>"}}
    declared.write(live.layout, Declared.of(live._load(spelled), stored), queries, {})
    edited = live._load({**spelled, NEWS_FILE: spelled[NEWS_FILE].replace("total as sum", f"total as {field}")})
    assert verdicts(live.plan(edited, **types))["gold.news"] == verdict


def test_type_of_a_field_is_told_as_other_rows(live: Live) -> None:
    found = live.entry("silver.totals", live.edited("sql/bronze/s.yml", "y: bigint", "y: int")).reasons
    assert [each.message.partition(";")[0] for each in found] == ["it reads other rows from now on"]


def test_downstream_and_topics_are_reported(live: Live) -> None:
    entry = live.entry("silver.totals")
    assert (entry.downstream, entry.topics) == (("gold.news",), ("news",))


def test_reason_is_shown_once() -> None:
    reason = Reason(Verdict.FORWARD, Place("a.sql", 3, 1), "other rows are taken")
    lines = [*planning._details(Entry("gold.a", "a.sql", "a", "FORWARD", (reason, reason)), {}, explain=False)]
    assert lines == ["", "gold.a: FORWARD", "  FORWARD a.sql:3:1: other rows are taken"]


def test_mix_and_reset_are_refused_with_place_and_code(live: Live) -> None:
    mixed = live.plan(live.edited(TOTALS_FILE, "sum(a.x)", "sum(a.x * 2)")).refusals()
    lost = live.plan(live.edited(NEWS_FILE, "materialized: append", "materialized: append\nquery: other")).refusals()
    assert [(finding.code, finding.place.path) for finding in mixed] == [("plan-mix", TOTALS_FILE)]
    assert lost == []  # nothing of it is stored under the old query yet


def test_model_that_moved_to_another_query_is_reset(live: Live) -> None:
    live.stored("gold.news")
    found = live.plan(live.edited(NEWS_FILE, "materialized: append", "materialized: append\nquery: other"))
    assert [finding.code for finding in found.refusals()] == ["plan-reset"]
    assert found.refusals("rebuild") == []


def test_leftover_of_a_former_model_is_reset(live: Live) -> None:
    declared.write(live.layout, Declared.of(live.without(NEWS_FILE), SCHEMAS), ["news"], {})
    (live.stored("gold.news") / "batch-1").mkdir()
    assert live.entry("gold.news", live._load(FILES)).verdict == "RESET"


def test_progress_that_nobody_noted_is_a_mix(live: Live) -> None:
    live.forget("totals")
    (live.layout.checkpoint("totals") / "inputs").mkdir(parents=True)
    assert verdicts(live.plan())["silver.totals"] == "MIX"


def test_deleted_file_leaves_orphans(live: Live) -> None:
    live.stored("gold.news")
    found = verdicts(live.plan(live.without(NEWS_FILE)))
    assert {name for name, verdict in found.items() if verdict == "ORPHAN"} == {"gold.news", "query news"}


def edited_type(live: Live) -> Project:
    """An edit after which only Spark knows the type of a column."""
    return live.edited(NEWS_FILE, "select id, total,", "select id, bround(total) as total,")


def with_total(type_: str) -> Schemas:
    return {"gold.news": {**SCHEMAS["gold.news"], "total": type_}}


def test_type_that_only_spark_knows_is_undecided(live: Live) -> None:
    found = live.plan(edited_type(live))
    assert verdicts(found)["gold.news"] == "UNDECIDED"
    assert [finding.code for finding in found.refusals()] == ["plan-undecided"]
    assert found.refusals("spark") == []


def test_run_leaves_a_type_to_spark_and_refuses_what_it_says(live: Live) -> None:
    edited = edited_type(live)
    assert planning.accepted(edited, live.layout, None, False) == {}
    assert planning.is_undecided(edited, live.layout)
    assert planning.accepted(edited, live.layout, None, False, with_total("bigint")) == {}
    with pytest.raises(InvalidProject) as refused:
        planning.accepted(edited, live.layout, None, False, with_total("double"))
    assert [finding.code for finding in refused.value.findings] == ["plan-reset"]


def test_run_that_rebuilds_resets_what_spark_says_does_not_fit(live: Live) -> None:
    edited = edited_type(live)
    assert planning.rebuild(edited, live.layout, True) == ()
    assert planning.rebuild(edited, live.layout, True, with_total("double")) == ("news",)


EXTRA = TOTALS.replace("a._arrival\n    from", "a._arrival,\n        1 as extra\n    from")


def test_type_is_asked_for_beside_an_accepted_mix(live: Live) -> None:
    live.start(live._load({**FILES, TOTALS_FILE: EXTRA}))
    edited = EXTRA.replace("sum(a.x)", "sum(a.x * 2)").replace("1 as extra", "bround(1) as extra")
    mixed = live._load({**FILES, TOTALS_FILE: edited})
    assert verdicts(live.plan(mixed))["silver.totals"] == "MIX"
    assert planning.is_undecided(mixed, live.layout)


def test_undecided_column_leaves_readers_of_others_alone(live: Live) -> None:
    live.start(live._load({**FILES, TOTALS_FILE: EXTRA}))
    found = verdicts(live.plan(live._load({**FILES, TOTALS_FILE: EXTRA.replace("1 as extra", "bround(1) as extra")})))
    assert (found["silver.totals"], found["gold.news"]) == ("UNDECIDED", "SAME")


def test_type_that_spark_has_reported_is_trusted(live: Live) -> None:
    edited = edited_type(live)
    same, other = ({"gold.news": {**SCHEMAS["gold.news"], "total": type_}} for type_ in ("bigint", "double"))
    assert verdicts(live.plan(edited, **same))["gold.news"] == "KEEP"
    assert verdicts(live.plan(edited, **other))["gold.news"] == "RESET"


def test_query_that_is_not_understood_is_reset_unless_only_rewritten(live: Live) -> None:
    strange = STRANGE.replace("where total > 10", "where total > 10 order by id limit 5")
    project = live._load({**FILES, NEWS_FILE: strange})
    live.start(project)
    rewritten = live._load({**FILES, NEWS_FILE: strange.replace("where", "WHERE  -- only big ones\n")})
    edited = live._load({**FILES, NEWS_FILE: strange.replace("> 10", "> 11")})
    assert [verdicts(live.plan(each))["gold.news"] for each in (rewritten, edited)] == ["SAME", "RESET"]


def test_case_counts_in_what_is_quoted_and_in_names(live: Live) -> None:
    strange = STRANGE.replace("where total > 10", "where lower(id) <> 'Abc' order by id limit 5")
    live.start(live._load({**FILES, NEWS_FILE: strange}))
    shouted = live._load({**FILES, NEWS_FILE: strange.replace("select id", "SELECT id").replace("lower", "LOWER")})
    quoted = live._load({**FILES, NEWS_FILE: strange.replace("'Abc'", "'abc'")})
    named = live._load({**FILES, NEWS_FILE: strange.replace("select id", "select Id")})
    found = [verdicts(live.plan(each))["gold.news"] for each in (shouted, quoted, named)]
    assert found == ["SAME", "RESET", "RESET"]  # a struct takes the names of columns for its fields


@pytest.mark.parametrize("call", ["hash(*)", "array(a.*)", "count(a.*) over (partition by a.id order by a._arrival)"])
def test_star_as_an_argument_is_not_understood(call: str, tmp_path: Path) -> None:
    text = TOTALS.replace("a.id,\n", f"a.id,\n        {call} as value,\n")
    live = Live(tmp_path, {**FILES, TOTALS_FILE: text})
    live.start()
    assert (
        live.entry("silver.totals", live.edited(TOTALS_FILE, "select id, x,", "select id, x + 1 as x,")).verdict
        == "RESET"
    )


def test_edited_seeds_are_reported() -> None:
    old = Topic("a", "a", Place("a.yml"))
    new = replace(old, seeds=(Seed(2, "k", "1"),))
    (reason,) = topic_reasons(old, new)
    assert (reason.verdict.name, reason.message) == ("KEEP", "1 new keys of the seed land as changes at the next start")
    fewer = replace(new, seeds=(Seed(2, "l", "1"),))
    (reason,) = topic_reasons(new, fewer)
    assert "1 that the file has no more stay" in reason.message
    (reason,) = topic_reasons(replace(new, null_value=True), replace(fewer, null_value=True))
    assert reason.message.startswith("1 new, 1 gone keys")


def test_macro_makes_the_event_time_another() -> None:
    old, new = (
        Topic("a", "a", Place("a.yml"), event_time="at(k)", macros=(Macro("at", "macros/at.sql", text),))
        for text in ("return v", "return v + 1")
    )
    assert "event_time" in edited_topic_columns(old, new)


ANOTHER = [
    ("date_format(current, 'y')", "'y'", "'yyyy'"),
    ("date_trunc('D', current)", "'D'", "'day'"),
    ("to_json(cast(id as struct<a: int>))", "<a", "<A"),
    ("parse_json(id):a.B::bigint", "a.B", "a.b"),
    ("concat('a', 'b')", "'a', 'b'", "'a'', ''b'"),
    ("first(total, true) over (partition by id, _arrival order by _arrival)", ", true", ""),
    ("array_size(array(total))", "array_size", "size"),
]
"""Expressions that look alike to sqlglot, and are not to Spark."""


@pytest.mark.parametrize(("expression", "old", "new"), ANOTHER)
def test_expressions_that_only_look_alike_are_others(expression: str, old: str, new: str, tmp_path: Path) -> None:
    text = NEWS.replace(
        "select id, total,", f"select id, total, {expression.replace('current', 'timestamp(total)')} as value,"
    )
    live = Live(tmp_path, {**FILES, NEWS_FILE: text})
    live.start()
    assert live.entry("gold.news", live.edited(NEWS_FILE, old, new)).verdict != "SAME"


@pytest.mark.parametrize(
    "query",
    [
        "with t as ((select id, total, _arrival from stream silver.totals order by id) limit 3) select * from t",
        "select * from ((select id, total, _arrival from stream silver.totals order by id) limit 3) as t",
        "select t.id, t.total, t._arrival from stream silver.totals as t, range(3)",
    ],
)
def test_what_is_not_understood_is_no_crash(query: str, tmp_path: Path) -> None:
    news = NEWS if "range" in query else STRANGE
    live = Live(tmp_path, {**FILES, NEWS_FILE: f"{news[: news.index('*/') + 2]}\n{query}\n"})
    live.start()
    assert live.entry("gold.news", live.edited(NEWS_FILE, "3)", "4)")).verdict == "RESET"


def test_what_is_read_may_be_rewritten(live: Live) -> None:
    allowed = TOTALS.replace("materialized:", "allow: {cut-dependent: these rows are never looked at}\nmaterialized:")
    strange = allowed.replace("select * from summed", "select * from summed order by id limit 5")
    live.start(live._load({**FILES, TOTALS_FILE: strange, NEWS_FILE: f"{STRANGE.rstrip()} order by id limit 5\n"}))
    shouted = {
        TOTALS_FILE: strange.replace("left join", "LEFT JOIN"),
        NEWS_FILE: f"{STRANGE.rstrip()} order by id LIMIT 5\n",
    }
    bronze = {"sql/silver/s/a.sql": FILES["sql/silver/s/a.sql"].replace("select", "SELECT")}
    found = live.plan(live._load({**FILES, **shouted, **bronze}))
    assert set(verdicts(found).values()) == {"SAME"}


def test_query_that_is_not_understood_is_the_same_beside_edits_of_others(live: Live) -> None:
    files = {**FILES, TOTALS_FILE: TOTALS.replace("select * from summed", "select * from summed order by id limit 5")}
    allow = "allow: {cut-dependent: these rows are never looked at}"
    files[TOTALS_FILE] = files[TOTALS_FILE].replace("materialized:", f"{allow}\nmaterialized:")
    live.start(live._load(files))
    sources = "# Sources.\n" + FILES["sql/bronze/s.yml"].replace("Answers; one", "All answers; one")
    macro = "create temporary function thrice(v bigint) returns bigint return v * 3"
    found = live.plan(live._load({**files, "sql/bronze/s.yml": sources, "macros/thrice.sql": macro}))
    assert set(verdicts(found).values()) == {"SAME"}


def test_edit_of_what_is_read_reaches_a_query_that_is_not_understood(live: Live) -> None:
    files = {**FILES, NEWS_FILE: f"{STRANGE.rstrip()} order by id limit 5\n"}
    live.start(live._load(files))
    edited = {**files, TOTALS_FILE: TOTALS.replace("sum(a.x)", "sum(a.x * 2)")}
    assert verdicts(live.plan(live._load(edited)))["gold.news"] == "RESET"


def test_macro_in_a_header_counts(tmp_path: Path) -> None:
    files = {**FILES, TOTALS_FILE: TOTALS.replace("unique_key: id", "unique_key: id\nclose_when: twice(total) > 9")}
    live = Live(tmp_path, files)
    live.start()
    assert live.entry("silver.totals", live.edited("macros/twice.sql", "v * 2", "v * 3")).verdict == "MIX"


def test_accepted_mix_is_kept_with_its_reason(live: Live) -> None:
    edited = live.edited(TOTALS_FILE, "sum(a.x)", "sum(a.x * 2)")
    with pytest.raises(InvalidProject) as refused:
        planning.accepted(edited, live.layout, None, False)
    assert [finding.code for finding in refused.value.findings] == ["plan-mix"]
    mixes = planning.accepted(edited, live.layout, "we count twice from now on", False)
    declared.write(live.layout, Declared.of(edited, SCHEMAS), ["totals"], mixes)
    record = declared.record_of(live.layout, "totals")
    assert record is not None
    assert [mix["why"] for mix in record.accepted] == ["we count twice from now on"]
    assert verdicts(live.plan(edited))["silver.totals"] == "SAME"


def test_mix_without_a_reason_is_refused(live: Live) -> None:
    with pytest.raises(UsageError):
        planning.accepted(live.project, live.layout, " ", False)


def test_rebuild_resets_the_query_and_those_that_stream_it(live: Live) -> None:
    paths = [live.stored("silver.totals"), live.stored("gold.news")]
    edited = live.edited(TOTALS_FILE, "unique_key: id", "unique_key: _arrival")
    assert planning.accepted(edited, live.layout, None, True) == {}
    assert planning.rebuild(edited, live.layout, True) == ("totals", "news")
    assert [path.exists() for path in paths] == [False, False]
    assert {verdicts(live.plan(edited))[name] for name in ("silver.totals", "gold.news")} == {"NEW"}


def test_rebuild_of_what_is_the_same_resets_nothing(live: Live) -> None:
    live.stored("silver.totals")
    assert planning.rebuild(live.project, live.layout, True) == ()


def test_rows_that_will_leave_a_source_are_announced(live: Live) -> None:
    edited = live.edited("sql/bronze/s.yml", "topics:\n", "keep: 30 days\ntopics:\n")
    entries = {entry.name: entry for entry in live.plan(edited).entries}
    assert (entries["bronze.a"].verdict, entries["silver.totals"].verdict) == ("KEEP", "SAME")
    assert entries["bronze.a"].first is not None
    assert "leave 30 days after" in entries["bronze.a"].first.message
    assert "a rebuild" in entries["bronze.a"].first.message


SOURCES = "sql/bronze/s.yml"


def test_source_that_lands_elsewhere_is_a_mix_until_it_has_started_there(live: Live) -> None:
    edited = live.edited(SOURCES, "landing: s", "landing: other")
    found = live.plan(edited)
    assert [verdicts(found)[name] for name in ("bronze.a", "silver.totals")] == ["MIX", "MIX"]
    assert {each.place.line for entry in found.entries for each in entry.reasons if entry.name == "bronze.a"} == {1}
    live.start(edited)  # the progress of the former landing is still there
    assert set(verdicts(live.plan(edited)).values()) == {"SAME", "ORPHAN"}


def test_time_that_passes_otherwise_goes_forward_where_watermarks_wait(tmp_path: Path) -> None:
    counts = """/*
Counts: one row per minute.

materialized: append
*/
select window.start as started_at, count(*) as n from stream silver.a watermark at delay of interval 1 minute
group by window(at, '1 minute')
"""
    live = Live(tmp_path, {**FILES, "sql/gold/s/counts.sql": counts})
    live.start()
    slower = live.edited(SOURCES, "  a:\n", "  a:\n    idle_after: 60\n")
    all_slower = live.edited("manifest.yml", "vars: {", "vars: {idle_tick: 60, ")
    written = live.edited(SOURCES, "  a:\n", "  a:\n    idle_after: 5\n")
    names = ("bronze.a", "gold.counts", "silver.totals")
    found = [[verdicts(live.plan(each))[name] for name in names] for each in (slower, all_slower, written)]
    assert found == [["FORWARD", "FORWARD", "SAME"]] * 2 + [["SAME"] * 3]


def _with_conf(live: Live, entry: str) -> Project:
    return live._load({**FILES, "conf/test.yml": f"kafka: {{bootstrap: embedded}}\nspark: {{conf: {{{entry}}}}}\n"})


def test_setting_that_may_give_a_column_another_type_is_left_to_spark(tmp_path: Path) -> None:
    files = {**FILES, NEWS_FILE: NEWS.replace("select id, total,", "select id, '1' + total as total,")}
    live = Live(tmp_path, files)
    live.start()
    edited = live._load({**files, "conf/test.yml": "spark: {conf: {spark.sql.ansi.enabled: false}}\n"})
    known = {**SCHEMAS, **with_total("double")}
    found = [verdicts(live.plan(edited, **types))["gold.news"] for types in ({}, SCHEMAS, known)]
    assert found == ["UNDECIDED", "FORWARD", "RESET"]


def test_setting_leaves_columns_of_a_certain_type_as_they_are(live: Live) -> None:
    entries = ("spark.sql.ansi.enabled: false", "spark.sql.session.timeZone: Asia/Tokyo")
    assert {verdicts(live.plan(_with_conf(live, each)))["gold.news"] for each in entries} == {"FORWARD"}


def test_aborted_records_that_land_are_told(live: Live) -> None:
    conf = "kafka: {bootstrap: embedded, options: {isolation.level: read_uncommitted}}\n"
    found = live.entry("bronze.a", live._load({**FILES, "conf/test.yml": conf}))
    assert (found.verdict, found.first and found.first.place) == ("FORWARD", Place("conf/test.yml", 1, 40))


def test_other_topic_of_a_source_is_a_mix_of_the_source(live: Live) -> None:
    edited = live.edited("sql/bronze/s.yml", "  a:\n", "  a:\n    topic: elsewhere\n")
    found = verdicts(live.plan(edited))
    assert (found["bronze.a"], found["silver.totals"], found["bronze.b"]) == ("MIX", "FORWARD", "SAME")


def test_command_says_verdicts_and_whether_a_run_would_refuse(
    live: Live, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(live.layout.data_dir))
    live.edited(TOTALS_FILE, "sum(a.x)", "sum(a.x * 2)")
    codes = [_code(live, words) for words in (["plan", "--json"], ["plan", "--explain"], ["plan", "-s", "bronze.a"])]
    assert codes == [3, 3, 0]
    out = capsys.readouterr().out
    rows = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    verdicts_by_name = {row["name"]: (row["verdict"], row["rebuild"] is not None) for row in rows}
    assert verdicts_by_name["silver.totals"] == ("MIX", True)
    assert "+sum(" in out.replace(" ", "").replace("*", "") or "x * 2" in out


def _code(live: Live, words: Sequence[str]) -> object:
    with pytest.raises(SystemExit) as ended:
        cli.main(["-C", str(live.project.root), "-t", "test", *words])
    return ended.value.code


def test_plan_of_sixty_models_takes_less_than_two_seconds(tmp_path: Path) -> None:
    many = {f"sql/silver/s/totals{n}.sql": TOTALS.replace("silver.totals", f"silver.totals{n}") for n in range(60)}
    live = Live(tmp_path, {**corpus.BASE, **many})
    live.start()
    edited = live.edited("sql/silver/s/a.sql", "data.x as x", "data.x * 2 as x")
    began = time.process_time()
    found = live.plan(edited)
    assert time.process_time() - began < 2
    assert list(verdicts(found).values()).count("MIX") == 60


def test_known_types_are_those_of_exactly_these_files(live: Live) -> None:
    field = {"name": "a", "type": {"type": "array", "elementType": "long"}, "nullable": True, "metadata": {}}
    known.store(live.project, {"gold.news": {"type": "struct", "fields": [field]}})
    assert known.types(live.project) == {"gold.news": {"a": "array<bigint>"}}
    assert known.types(live.edited(NEWS_FILE, "> 10", "> 11")) is None


@pytest.mark.parametrize(
    ("file", "old", "new", "left"),
    [
        (NEWS_FILE, "> 10", "> 11", {"silver.totals", "silver.a", "silver.b"}),
        (TOTALS_FILE, "coalesce(before.total, 0)", "before.total", {"silver.a", "silver.b"}),
        ("sql/silver/s/a.sql", "data.x as x", "data.x + 1 as x", {"silver.b"}),
        ("sql/bronze/s.yml", "x: bigint, y: bigint", "x: int, y: bigint", set()),
        ("sql/bronze/s.yml", "Amounts; one record", "Sums; one record", {*SCHEMAS, "silver.a", "silver.b"}),
        ("macros/twice.sql", "v * 2", "v * 3", set()),
        ("manifest.yml", "least: 1", "least: 2", set()),
    ],
)
def test_types_of_a_model_outlive_edits_of_what_it_is_not_made_of(
    live: Live, file: str, old: str, new: str, left: set[str]
) -> None:
    fields = [{"name": "a", "type": "long", "nullable": True, "metadata": {}}]
    known.store(live.project, {model.table: {"type": "struct", "fields": fields} for model in live.project.models})
    edited = live.edited(file, old, new)
    assert (known.types(edited) or {}).keys() == left


def test_verdicts_that_cannot_be_kept_or_read_are_asked_for_again(live: Live, verdicts: Path) -> None:
    verdicts.parent.write_text("a file where a folder should be")
    known.store(live.project, {})
    assert known.schemas(live.project) is None
    verdicts.parent.unlink()
    known.store(live.project, {})
    (broken,) = verdicts.iterdir()
    broken.write_text("{", "utf-8")
    assert known.schemas(live.project) is None


def test_only_the_newest_verdicts_are_kept(live: Live, verdicts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usercache, "MAX_FILES", 2)
    projects = [live.edited(NEWS_FILE, "> 10", f"> {number}") for number in range(4)]
    for project in projects:
        known.store(project, {})
        for file in verdicts.iterdir():
            os.utime(file, (file.stat().st_mtime - 10,) * 2)
    assert [known.schemas(project) is not None for project in projects] == [False, False, True, True]


LARGE = """/*
Large amounts: one row per amount.

materialized: append
*/
select id, x, _arrival from stream silver.a where x > 3
"""
READER = LARGE.replace("silver.a where x > 3", "silver.large")


@pytest.mark.parametrize(("is_behind", "verdict"), [(False, "KEEP"), (True, "FORWARD")])
def test_rows_that_wait_for_their_reader_are_by_the_old_text(tmp_path: Path, is_behind: bool, verdict: str) -> None:
    live = Live(tmp_path, {**FILES, "sql/silver/s/large.sql": LARGE, "sql/gold/s/reader.sql": READER})
    live.start()
    edited = live.edited("sql/silver/s/large.sql", "x > 3", "x > 4")
    waiting = {("gold.reader", "silver.large")} if is_behind else set()
    found = plan.make(edited, live.layout, None, lambda *names: names in waiting)
    entries = {entry.name: entry for entry in found.entries}
    assert [entries[name].verdict for name in ("silver.large", "gold.reader")] == ["KEEP", verdict]

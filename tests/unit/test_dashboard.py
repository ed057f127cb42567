"""The runner's status for people."""

import io
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from rich.console import Console, RenderableType

from headrace.reading.dashboard import Arrival, frame, status_line, status_view
from headrace.reading.status import ProjectStatus, QueryStatus, RunnerStatus, TableStatus

AT = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
RUNNER = RunnerStatus("demo", "local", 42, AT - timedelta(seconds=3725), "running")
BUSY = QueryStatus("orders", "micro_batch", "running", 7, 100, 12.5, 3)


def project(*queries: QueryStatus) -> ProjectStatus:
    return ProjectStatus(RUNNER, AT, queries)


def drawn(picture: RenderableType, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(picture)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def many(count: int) -> ProjectStatus:
    return project(*(replace(BUSY, name=f"query_{n}", state="waiting" if n % 2 else "running") for n in range(count)))


def arrivals(count: int) -> list[Arrival]:
    return [Arrival(AT, "gold.calls", f"row {n} " + "long " * 40) for n in range(count)]


def test_headline_shows_runner_and_age() -> None:
    assert drawn(status_view(project(BUSY), 80))[0] == "demo · local · running · pid 42 · up 1:02:05"


def test_headline_of_ended_runner_says_how_long_it_ran() -> None:
    ended = replace(project(BUSY), project=replace(RUNNER, state="failed"))
    assert drawn(status_view(ended, 80))[0] == "demo · local · failed · pid 42 · ran 1:02:05"


def test_headline_of_no_runner_is_short() -> None:
    assert drawn(status_view(ProjectStatus(RunnerStatus("demo", "local")), 80)) == ["demo · local · stopped"]


def test_query_has_its_figures() -> None:
    assert drawn(status_view(project(BUSY), 80))[3].split() == ["orders", "running", "7", "12", "3"]


def test_columns_without_figures_are_left_out() -> None:
    assert drawn(status_view(project(BUSY), 80))[2].split() == ["query", "state", "batch", "rows/s", "behind"]


def test_figures_bring_their_column() -> None:
    assert "late" in drawn(status_view(project(replace(BUSY, late=1)), 80))[2]


def test_narrow_screen_drops_columns_not_digits() -> None:
    full = replace(BUSY, name="a_rather_long_query_name", batch=123456, state_rows=77, watermark=AT, late=1, rejected=1)
    header, line = drawn(status_view(project(full), 62), 62)[2:4]
    assert ("kept" in header, "123456" in line) == (False, True)


def test_trouble_shows_its_error_in_one_line() -> None:
    failed = replace(BUSY, state="failed", last_error="no broker\n\tat kafka")
    assert drawn(status_view(project(failed), 80))[-1] == "orders: no broker at kafka"


def test_tables_are_shown_as_maintenance_has_left_them_the_largest_first() -> None:
    small, large = (TableStatus(f"gold.{name}", AT, 101, size, 3100, 3202) for name, size in (("a", 9), ("b", 901_230)))
    lines = drawn(status_view(replace(project(BUSY), tables=(small, large)), 80))
    assert lines[5].split() == ["table", "files", "size", "versions", "maintained"]
    assert lines[6].split() == ["gold.b", "101", "901.2", "kB", "3100", "to", "3202", "2026-01-01", "12:00"]
    assert lines[7].startswith("gold.a ")


def test_old_error_of_running_query_is_not_reported() -> None:
    assert not any("boom" in line for line in drawn(status_view(project(replace(BUSY, last_error="boom")), 80)))


@pytest.mark.parametrize("count", [0, 1, 5, 30])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (40, 10)])
def test_frame_fits_the_screen(count: int, width: int, height: int) -> None:
    lines = drawn(frame(many(count), arrivals(50), width, height), width)
    assert (len(lines) <= height, max(map(len, lines)) <= width) == (True, True)


def test_busy_queries_go_first() -> None:
    text = "\n".join(drawn(frame(many(30), [], 80, 12)))
    assert ("query_0" in text, "query_1 " in text, "more" in text) == (True, False, True)


def test_trouble_goes_before_busy() -> None:
    status = many(30)
    failed = replace(status, queries=(*status.queries, replace(BUSY, name="broken", state="failed")))
    assert any(line.startswith("broken") for line in drawn(frame(failed, [], 80, 12)))


def test_newest_arrival_is_at_the_bottom() -> None:
    assert "row 49" in drawn(frame(many(5), arrivals(50), 80, 24))[-1]


@pytest.mark.parametrize(
    ("number", "text"), [(0.25, "0.2"), (9999, "9999"), (12_345, "12k"), (9_999_499, "9999k"), (123_456_789, "123M")]
)
def test_figures_stay_short(number: float, text: str) -> None:
    assert drawn(status_view(project(replace(BUSY, rows_per_second=number)), 80))[3].split()[3] == text


def test_watermark_of_another_day_has_its_date() -> None:
    assert "2026-01-01 12:00" in drawn(status_view(project(replace(BUSY, watermark=AT)), 80))[3]


def test_line_names_values() -> None:
    words = status_line(replace(BUSY, rejected=2), AT).split()
    assert {"query=orders", "state=running", "batch=7", "behind_by=3", "rejected=2"} <= set(words)


def test_failed_tests_are_summed() -> None:
    words = status_line(replace(BUSY, failed={"gold.x.small": 2, "gold.x.named": 1}), AT).split()
    assert "failed=3" in words

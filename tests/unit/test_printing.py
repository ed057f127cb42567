"""Rows on a screen or in a pipe."""

import io
import json
import os
from collections.abc import Iterator
from typing import TextIO

import pytest
from rich.console import Console

from headrace.reading.printing import json_lines, print_lines, print_rows, reader_gone, write_lines
from headrace.reading.rows import Rows


def rows(count: int = 1, text: str = "x", brief: tuple[str, ...] = ()) -> Rows:
    return Rows(("id", "text", "_batch"), iter([{"id": n, "text": text, "_batch": 0} for n in range(count)]), (), brief)


def printed(found: Rows, width: int = 80, terminal: bool = True, most: int = 100) -> tuple[str, str]:
    out = Console(file=io.StringIO(), width=width, force_terminal=terminal, color_system=None)
    talk = Console(file=io.StringIO(), width=width)
    print_rows(found, out, talk, most)
    return out.file.getvalue(), talk.file.getvalue()  # type: ignore[attr-defined]


def test_bookkeeping_columns_are_left_out() -> None:
    header, *_ = printed(rows())[0].splitlines()
    assert header.split() == ["id", "text"]


def test_brief_columns_are_taken_instead() -> None:
    header, *_ = printed(rows(brief=("_batch",)))[0].splitlines()
    assert header.split() == ["_batch"]


def test_wide_rows_become_records() -> None:
    out, _ = printed(rows(text="long " * 40), width=40)
    assert "row 1" in out


def test_pipe_gets_each_row_in_one_line() -> None:
    out, _ = printed(rows(count=3, text="long " * 40), width=40, terminal=False)
    assert len([line for line in out.splitlines() if "long" in line]) == 3


def test_pipe_gets_no_blanks_at_line_ends() -> None:
    out, _ = printed(rows(text="x"), terminal=False)
    assert [line for line in out.splitlines() if line != line.rstrip()] == []


def lines(width: int, terminal: bool = True) -> list[str]:
    out = Console(file=io.StringIO(), width=width, force_terminal=terminal, color_system=None)
    listed = [{"model": f"gold.model_{n}", "engine": "micro_batch", "inputs": "silver.table, " * 5} for n in range(2)]
    print_lines(listed, out, left_out_first=("engine",))
    return out.file.getvalue().splitlines()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("width", "terminal"), [(40, True), (200, True), (40, False)])
def test_line_stands_for_one_row(width: int, terminal: bool) -> None:
    assert [line.split()[0] for line in lines(width, terminal)] == ["model", "gold.model_0", "gold.model_1"]


def test_narrow_screen_does_without_some_columns() -> None:
    assert [line.split()[1] for line in lines(40)] == ["inputs", "silver.table,", "silver.table,"]


def test_narrow_screen_cuts_lines_at_its_edge() -> None:
    assert [max(map(len, lines(40))), lines(40)[1].rstrip()[-1]] == [40, "…"]


def test_pipe_gets_lines_whole() -> None:
    assert lines(40, terminal=False)[1].split()[1:] == ["micro_batch", *["silver.table,"] * 5]


def test_no_lines_print_nothing() -> None:
    out = Console(file=io.StringIO(), width=40)
    print_lines([], out)
    assert out.file.getvalue().strip() == ""  # type: ignore[attr-defined]


def test_more_rows_than_printed_are_noted() -> None:
    out, talk = printed(rows(count=3), most=2)
    assert ("2" not in out, "--limit" in talk) == (True, True)


def test_all_rows_printed_need_no_note() -> None:
    assert printed(rows(count=2), most=2)[1] == ""


def test_no_rows_print_only_notes() -> None:
    assert printed(Rows((), iter(()), ("no rows yet in x",))) == ("", "no rows yet in x\n")


def test_markup_in_values_is_text() -> None:
    assert "[red]x[/red]" in printed(rows(text="[red]x[/red]"))[0]


def test_json_lines_have_all_columns() -> None:
    assert [json.loads(line) for line in json_lines(rows())] == [{"id": 0, "text": "x", "_batch": 0}]


@pytest.fixture
def pipe() -> Iterator[tuple[int, TextIO]]:
    """A pipe: the end to read, and the end to write that can stand for stdout."""
    read, write = os.pipe()
    with os.fdopen(write, "w") as stdout:
        yield read, stdout


def test_closed_pipe_ends_quietly(pipe: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch) -> None:
    read, stdout = pipe
    os.close(read)
    lines = iter(["never read", "never asked for"])
    monkeypatch.setattr("sys.stdout", stdout)
    write_lines(lines)
    assert list(lines) == ["never asked for"]


def test_closed_pipe_is_noticed(pipe: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch) -> None:
    read, stdout = pipe
    monkeypatch.setattr("sys.stdout", stdout)
    before = reader_gone()
    os.close(read)
    assert (before, reader_gone()) == (False, True)

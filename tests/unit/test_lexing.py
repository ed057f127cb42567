"""Calls of functions that leave SQL are refused, however they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import InvalidProject
from headrace.project.sql import lexing, sqltext

READ = "select {} as a from stream bronze.orders"
HIDDEN = [
    READ.format("reflect /* x */ ('java.lang.System', 'getenv', 'JAAS')"),
    READ.format("java_method -- x\n    ('java.lang.System', 'exit', 1)"),
    READ.format("1 as b -- to Spark this comment ends here\r, reflect('a', 'b')"),
    READ.format("/* /* two */ 'deep' */ Reflect('a', 'b')"),
    READ.format("`reflect` ('a', 'b')"),
    READ.format("system.builtin.reflect\u00a0('a', 'b')"),
    READ.format("r'\\', try_reflect('a', 'b'), r''"),
    READ.format("'\\'', reflect('a', 'b'), '\\''"),
    "select 1 as a from stream bronze.orders watermark to_date(reflect('a', 'b')) as t delay of interval 1 day",
    "select 1 as a from stream bronze.orders with (skip = reflect('a', 'b'))",
]
HARMLESS = [
    READ.format("data.reflect"),
    READ.format("'reflect(' || \"java_method(\""),
    READ.format("1 /* reflect('a', 'b') */"),
    READ.format("1 -- reflect('a', 'b')\n"),
]


@pytest.mark.parametrize("text", HIDDEN)
def test_call_of_java_is_refused_at_its_place(text: str) -> None:
    with pytest.raises(InvalidProject) as caught:
        sqltext.read(text, "m.sql")
    assert {finding.code for finding in caught.value.findings} == {"not-allowed"}
    assert all(finding.place.line and finding.place.column for finding in caught.value.findings)


@pytest.mark.parametrize("text", HARMLESS)
def test_word_that_calls_nothing_passes(text: str) -> None:
    assert sqltext.read(text, "m.sql").columns == ("a",)


@given(st.text(alphabet="ab(`'\"r\\-/*+\n\r ,", max_size=40))
def test_any_text_is_cut_to_its_end(text: str) -> None:
    for routine in lexing.routines(text):
        begin = routine.offset + (text[routine.offset] in '`"')
        assert text[begin:].lower().startswith(routine.name[:1])

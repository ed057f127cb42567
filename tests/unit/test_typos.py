"""Typing mistakes in SQL are found offline, at their place; what only looks like one is not."""

from __future__ import annotations

import pytest

from headrace.errors import InvalidProject
from headrace.project.sql import dialect


def first_finding(text: str) -> tuple[int, str]:
    """The column and the message of the first finding."""
    with pytest.raises(InvalidProject) as caught:
        dialect.parse(text, "m.sql")
    found = caught.value.findings[0]
    assert found.code == "syntax"
    return found.place.column, found.message


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("select a, from t", 9, "stray comma before `from`"),
        ("select a,\nfrom t", 9, "stray comma before `from`"),
        ("select a, where b", 9, "before `where`"),
        ("select a from t, where b", 16, "before `where`"),
        ("select a from t, left join u on true", 16, "before `left`"),
        ("select a from t group by a, having b", 27, "before `having`"),
        ("select a from t order by a, limit 3", 27, "before `limit`"),
        ("select f(a, ) from t", 11, "before `)`"),
        ("select f(, a) from t", 10, "after `(`"),
        ("select a,, b from t", 9, "before `,`"),
        ("select , a from t", 8, "after `select`"),
        ("select array[1, ] from t", 15, "before `]`"),
        ("with x as (select 1 as a), select a from x", 26, "before `select`"),
        ("select a from t group by a,", 27, "at the end"),
        ("select from t", 1, "names no columns"),
        ("select a from (select distinct from t)", 16, "names no columns"),
        ("select f(a from t", 9, "never closed"),
        ("select (a)) from t", 11, "closes nothing"),
        ("select f(a] from t", 11, "the last one open is `(`"),
        ("with x as (select 1 as a) y as (select 2 as b) select a from x", 27, "comma is missing before `y`"),
        ("select ‘a’ from t", 8, "write `'`"),  # noqa: RUF001
        ("select a\uff0c b from t", 9, "write `,`"),
        ("select a\x00 from t", 9, "U+0000"),
    ],
)
def test_typo_is_reported_at_its_place(text: str, column: int, words: str) -> None:
    at, message = first_finding(text)
    assert (at, words in message) == (column, True), message


@pytest.mark.parametrize(
    "text",
    [
        "select t.from, t.where from t",
        "select f(a), b[1], array(1, 2) from t",
        "select ', from', \", from\", `, from` from t",
        "select a /* , from ( */ from t -- , (\nwhere b",
        "select left(a, 1), right(a, 1), left(b, 2) from t",
        "select a, left, right from t",
        "select a from t where a in ('‘', '，')",  # noqa: RUF001
        "select a from t group by all order by all limit 3",
        "with x as (select 1 as a), y as (select 2 as b) select a, b from x, y",
        "select sequence(1, 2) as größe from t",
        "select\u00a0a from t",
        "from t select a",
    ],
)
def test_what_only_looks_like_one_passes(text: str) -> None:
    dialect.parse(text, "m.sql")

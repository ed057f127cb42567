"""The first comment of a model file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import InvalidProject
from headrace.project.declarations import header
from headrace.project.model import Publish


def findings(text: str) -> list[tuple[int, int, str]]:
    with pytest.raises(InvalidProject) as caught:
        header.read(text, "m.sql")
    return [(found.place.line, found.place.column, found.code) for found in caught.value.findings]


def test_description_and_keys_are_read():
    read = header.read(
        "/*\nOrders that wait,\none row per order.\n\nmaterialized: upsert\nunique_key: order_id\nquery: shipping\n"
        "close_when: size(missing) = 0\nlog: progress\ncolumns: {order_id: STRING, ts: timestamp}\n*/\nselect 1",
        "m.sql",
    )
    assert read.description == "Orders that wait, one row per order."
    assert (read.keys.materialized, read.keys.unique_key, read.keys.query) == ("upsert", ("order_id",), "shipping")
    assert (read.keys.close_when, read.keys.log) == ("size(missing) = 0", "progress")
    assert read.keys.columns == {"order_id": "string", "ts": "timestamp"}


def test_keys_may_be_missing():
    assert header.read("/* One row per order. */ select 1", "m.sql").keys.model_fields_set == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{topic: t, key: k, value: {a: b}}", Publish("k", (("a", "b"),), topic="t")),
        ("{topic: {column: c}, key: k, value: {a: b}}", Publish("k", (("a", "b"),), topic_column="c")),
        (
            "{topic: t, key: k, value: {a: b}, tombstone_when: gone}",
            Publish("k", (("a", "b"),), topic="t", tombstone_when="gone"),
        ),
    ],
)
def test_publish_is_read(text, expected):
    assert header.read(f"/* One.\n\npublish: {text}\n*/", "m.sql").publish == expected


def test_places_are_those_in_the_sql_file():
    places = header.read(
        "\n/*\nOne row.\n\nonce_per: [a, b]\npublish: {topic: t, key: k, value: {a: b}}\n*/", "m.sql"
    ).places
    assert str(places["once_per.1"]) == "m.sql:5:15"
    assert str(places["publish.value.a"]) == "m.sql:6:40"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select 1", (1, 1, "missing-header")),
        ("-- One row.\nselect 1", (1, 1, "missing-header")),
        ("/*\n*/ select 1", (1, 3, "missing-key")),
        ("/*\nmaterialized: view\n*/", (1, 3, "missing-key")),
        ("/*\nno sentence\n\nmaterialized: view\n*/", (2, 1, "bad-value")),
        ("/*\nOne row.\nmaterialized: view\n*/", (2, 1, "bad-value")),
        ("/*\nOne row.\n\nmaterialised: view\n*/", (4, 1, "unknown-key")),
        ("/*\nOne row.\n\nmaterialized: vew\n*/", (4, 15, "bad-value")),
        ("/*\nOne row.\n\nmaterialized: [view\n*/", (5, 1, "syntax")),
        ("/*\nOne row.\n\ntags: a\ntags: b\n*/", (5, 1, "duplicate-key")),
        ("/*\nOne row.\n\nanother paragraph\n*/", (4, 1, "bad-value")),
        ("/*\nOne row.\n\nquery: My Query\n*/", (4, 8, "bad-name")),
        ("/*\nOne row.\n\nrun: stream\n*/", (4, 6, "bad-value")),
        ("/*\nOne row.\n\ndelete_when: a =\n*/", (4, 14, "syntax")),
        ("/*\nOne row.\n\ndelete_when: a > :limit\n*/", (4, 14, "syntax")),
        ("/*\nOne row.\n\ncolumns: {a: strng}\n*/", (4, 14, "bad-value")),
        ("/*\nOne row.\n\npublish: {topic: t, key: k}\n*/", (4, 1, "missing-key")),
        ("/*\nOne row.\n\npublish: {topic: {}, key: k, value: {a: b}}\n*/", (4, 18, "bad-value")),
        ("/*\nOne row.\n\npublish: {topic: a b!, key: k, value: {a: b}}\n*/", (4, 18, "bad-name")),
        ("/*\nOne row.\n\npublish: {topic: {name: ..}, key: k, value: {a: b}}\n*/", (4, 25, "bad-name")),
        ("/*\nOne row.\n\npublish: {topic: {colum: c}, key: k, value: {a: b}}\n*/", (4, 19, "unknown-key")),
    ],
)
def test_broken_header_has_findings(text, expected):
    assert findings(text) == [expected]


def test_description_and_keys_are_found_together():
    assert findings("/*\nno sentence\n\nmaterialised: view\nrun: x\n*/") == [
        (2, 1, "bad-value"),
        (4, 1, "unknown-key"),
        (5, 6, "bad-value"),
    ]


@given(st.text(alphabet="aA.:-{}[]/* \n'\"", max_size=60))
def test_any_comment_is_a_header_or_a_finding(text):
    try:
        read = header.read(f"/*{text}*/", "m.sql")
    except InvalidProject as error:
        assert error.findings
    else:
        assert read.description

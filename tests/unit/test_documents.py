"""YAML with positions: values, findings and their places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import InvalidProject
from headrace.project.declarations import documents
from headrace.project.declarations.documents import Shape


class Inner(Shape):
    size: int = 0


class Outer(Shape):
    name: str
    inner: Inner = Inner()
    parts: tuple[Inner, ...] = ()
    named: dict[str, Inner] = {}  # noqa: RUF012


def findings(text: str) -> list[tuple[int, int, str]]:
    with pytest.raises(InvalidProject) as caught:
        documents.validate(documents.parse(text, "a.yml"), Outer)
    return [(found.place.line, found.place.column, found.code) for found in caught.value.findings]


def message(text: str) -> str:
    with pytest.raises(InvalidProject) as caught:
        documents.validate(documents.parse(text, "a.yml"), Outer)
    return caught.value.findings[0].message


def test_keys_and_values_know_their_places():
    document = documents.parse("a:\n  - x\n  - {b: 1}\n", "a.yml")
    assert str(document.key_place("a", 1, "b")) == "a.yml:3:6"
    assert str(document.value_place("a", 1, "b")) == "a.yml:3:9"


def test_place_of_what_is_missing_is_nearest():
    document = documents.parse("a:\n  b: 1\n", "a.yml")
    assert str(document.key_place("a", "c")) == "a.yml:1:1"


def test_yes_and_no_are_texts():
    assert documents.parse("a: no", "a.yml").value == {"a": "no"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: [x", (1, 9, "syntax")),
        ("name: a: b", (1, 8, "syntax")),
        ("name: x\n\tb: 1", (2, 1, "syntax")),
        ("name: *y", (1, 7, "syntax")),
        ("name: !!python/name:x y", (1, 7, "syntax")),
        ("name: x\n---\nname: y", (2, 1, "syntax")),
        ("name: x\nname: y", (2, 1, "duplicate-key")),
        ("name: x\ninner: {size: 1, size: 2}", (2, 18, "duplicate-key")),
        ("inner: {}", (1, 1, "missing-key")),
        ("- x", (1, 1, "bad-value")),
        ("name: 1", (1, 7, "bad-value")),
        ("name: x\ninner: {sise: 1}", (2, 9, "unknown-key")),
        ("name: x\nparts:\n  - {size: 1}\n  - {size: big}", (4, 12, "bad-value")),
        ("name: x\nnamed: {a: {sise: 1}}", (2, 13, "unknown-key")),
    ],
)
def test_findings_stand_at_key_or_value(text, expected):
    assert findings(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: x\ninner: 2026-02-30", (2, 8)),
        ("name: x\nparts:\n  - 2026-01-01T25:00:00Z", (3, 5)),
        ("name: x\n2026-13-01: y", (2, 1)),
        ("name: 2026-01-01T10:00:00+99:00", (1, 7)),
        ("name: !!int x", (1, 7)),
        ("name: !!bool x", (1, 7)),
    ],
)
def test_value_that_is_none_is_reported_where_it_stands(text, expected):
    assert findings(text) == [(*expected, "bad-value")]


def test_date_that_is_none_is_called_so():
    assert message("name: 2026-02-30").startswith("`2026-02-30` is no date or time;")


def test_all_dates_that_are_none_are_found():
    assert findings("name: 2026-02-30\nnamed: {a: 2026-02-31}") == [(1, 7, "bad-value"), (2, 12, "bad-value")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name:\ninner: {}", (1, 1)),
        ("name: x\ninner:\n\n  # nothing\nparts: []", (2, 1)),
        ("name: x\ninner: {size: }", (2, 9)),
        ("name: x\ninner:", (2, 1)),
        ("name: ''\ninner: ''", (2, 8)),
        ("name: x\ninner: ~", (2, 8)),
    ],
)
def test_empty_value_is_reported_at_its_key(text, expected):
    assert findings(text) == [(*expected, "bad-value")]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (
            "a:\n  b: 1\n c: 2",
            (3, 2),
            "`c` starts in another column than every key above it; start it in column 3 like `b`",
        ),
        ("a:\n  - b: 1\n   c: 2", (3, 4), "column 5 like `b` or column 1 like `a`"),
        ("a: 1\n  b: 2", (2, 4), "`b` is indented below `a`, which has a value already; start both in column 1"),
        ("a:\n\tb: 1", (2, 1), "`b` is indented with a tab; write spaces"),
        ("a: b: 1", (1, 5), "put a text that holds `: ` in quotes"),
        ("a: {{ b }}", (1, 5), "there are no templates here"),
        ("name:x", (1, 1), "put a space behind the colon"),
    ],
)
def test_line_that_does_not_fit_is_reported_by_its_key(text, place, words):
    with pytest.raises(InvalidProject) as caught:
        documents.validate(documents.parse(text, "a.yml"), Outer)
    (found,) = caught.value.findings
    assert ((found.place.line, found.place.column), words in found.message) == (place, True), found


def test_all_findings_of_a_file_come_at_once():
    assert findings("inner: {size: big, sise: 1}\nparts: 3\nother: 1") == [
        (1, 1, "missing-key"),
        (1, 15, "bad-value"),
        (1, 20, "unknown-key"),
        (2, 8, "bad-value"),
        (3, 1, "unknown-key"),
    ]


def test_keys_missing_in_one_place_are_all_found():
    class Two(Shape):
        first: int
        second: int

    with pytest.raises(InvalidProject) as caught:
        documents.validate(documents.parse("{}", "a.yml"), Two)
    assert len(caught.value.findings) == 2


def test_all_duplicate_keys_are_found():
    assert findings("a: 1\na: 2\nb: {c: 1, c: 2}") == [(2, 1, "duplicate-key"), (3, 11, "duplicate-key")]


@pytest.mark.parametrize(
    "text", ["name: x\ninner: {sise: 1}", "name: x\nnamed: {a: {sise: 1}}", "name: x\nparts: [{sise: 1}]"]
)
def test_unknown_key_suggests_the_nearest(text):
    assert "Did you mean size?" in message(text)


def test_unknown_key_without_near_one_lists_all():
    assert "name, inner, parts, named" in message("name: x\nzzz: 1")


@given(st.text(max_size=60))
def test_any_text_is_a_document_or_a_finding(text):
    try:
        document = documents.parse(text, "a.yml")
    except InvalidProject as error:
        assert {found.code for found in error.findings} <= {"syntax", "duplicate-key", "bad-value"}
    else:
        assert document.path == "a.yml"


NINE = ", ".join(["{}"] * 9)


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x]\n"
        + "".join(f"b{at}: &b{at} [{NINE.format(*[f'*b{at - 1}' if at else '*a'] * 9)}]\n" for at in range(9)),
        "x: &x {y: *x}\n",
        "&x [*x]\n",
        f"x: {'[' * 600}{']' * 600}\n",
        f"x: '{'x' * documents.LONGEST}'\n",
    ],
    ids=["aliases of aliases", "mapping in itself", "list in itself", "deep", "long"],
)
def test_text_that_comes_to_too_much_is_refused(text: str) -> None:
    with pytest.raises(InvalidProject) as caught:
        documents.parse(text, "a.yml")
    (found,) = caught.value.findings
    assert (found.place.path, found.code) == ("a.yml", "syntax")
    assert "recursion" not in found.message


def test_aliases_pass() -> None:
    text = "name: x\ninner: &small {size: 1}\nparts: [*small, *small]\n"
    assert documents.validate(documents.parse(text, "a.yml"), Outer).parts == (Inner(size=1), Inner(size=1))

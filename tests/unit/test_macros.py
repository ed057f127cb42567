"""macros/*.sql."""

from __future__ import annotations

import pytest

from headrace.errors import InvalidProject
from headrace.project.declarations.macros import named_in


def macro(name: str, body: str = "a + 1") -> str:
    return f"create temporary function {name}(a int) returns int return {body}"


def test_macros_stand_after_those_they_call(project_files):
    project_files.write("macros/a.sql", macro("a", "B(a) + 1"))
    project_files.write("macros/b.sql", "-- Adds.\n" + macro("b"))
    assert [found.name for found in project_files.load().macros] == ["b", "a"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select 1", "1:1 not-allowed"),
        (macro("f") + ";", "1:60 not-allowed"),
        ("create function f(a int) returns int return a", "1:1 not-allowed"),
        ("create temporary view f as select 1", "1:1 not-allowed"),
        (macro("f", "(select max(id) from silver.orders)"), "1:1 not-allowed"),
        (macro("f", "reflect('a', 'b')"), "1:55 not-allowed"),
        (macro("g"), "1:1 bad-name"),
        (macro("F"), "1:1 bad-name"),
        (macro("f", "a +"), "1:57 syntax"),
        (macro("f", "rand()"), "1:55 non-deterministic"),
        ("create temporary function f(a int) returns itn return a + 1", "1:44 syntax"),
        ("create temporary function f(a itn) returns int return a + 1", "1:31 syntax"),
        ("create temporary function f(a int) returns int retrun a + 1", "1:48 syntax"),
        ("create temporary macro f(a int) a + 1", "1:18 syntax"),
    ],
)
def test_broken_macro_has_findings(project_files, text, expected):
    project_files.write("macros/f.sql", text)
    assert project_files.findings() == [f"macros/f.sql:{expected}"]


@pytest.mark.parametrize(
    "signature",
    ["a int) returns itn", "a itn) returns int", "a int) returns array<itn>", "a map<string, itn>) returns int"],
)
def test_unknown_type_is_named_and_nothing_is_logged(project_files, caplog, signature):
    project_files.write("macros/f.sql", f"create temporary function f({signature} return a")
    with pytest.raises(InvalidProject, match=r"`itn` is no type\. Did you mean int\?"):
        project_files.load()
    assert caplog.records == []


def test_circle_of_macros_is_a_finding(project_files):
    project_files.write("macros/a.sql", macro("a", "b(a)"))
    project_files.write("macros/b.sql", macro("b", "a(a)"))
    assert project_files.findings() == ["macros/a.sql:1:55 cycle"]


def test_one_file_holds_a_macro(project_files):
    project_files.write("macros/f.sql", macro("f"))
    project_files.write("macros/more/f.sql", macro("f"))
    assert project_files.findings() == ["macros/more/f.sql:1:1 duplicate-macro"]


def test_macros_that_texts_name_are_found_with_those_that_they_name(project_files):
    for name, body in {"a": "b(a) + 1", "b": "a + 1", "c": "a + 1", "ab": "a"}.items():
        project_files.write(f"macros/{name}.sql", macro(name, body))
    known = project_files.load().macros
    found = named_in(["select C(1)", "log: A(x)"], known)
    assert found == tuple(each for each in known if each.name in ("a", "b", "c"))
    assert named_in(["select 1"], known) == ()

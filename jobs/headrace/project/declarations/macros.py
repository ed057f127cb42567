"""macros/*.sql: SQL functions that models may call, each in a file of its name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath

from sqlglot import exp

from headrace.errors import Finding, InvalidProject, Place
from headrace.project import dag
from headrace.project.declarations import fieldtypes
from headrace.project.declarations.shapes import is_name
from headrace.project.files import read_text
from headrace.project.model import Landing, Macro
from headrace.project.sql import dialect, templates
from headrace.project.sql.calls import Call, calls
from headrace.project.sql.dialect import Statement
from headrace.project.sql.guard import costs, refusals, routines
from headrace.project.sql.guard.costs import Costs

_WORD = re.compile(r"\w+")
_RETURN = re.compile(r"\breturn\b", re.IGNORECASE)
_BEFORE_TYPE = re.compile(r"(\breturns|\b(array|map)\s*<|\bmap\s*<\s*\w+\s*,|:|[(<,]\s*\w+)\s*$", re.IGNORECASE)

FORM = "create temporary function name(...) returns type return expression"


@dataclass(frozen=True)
class MacroFile:
    """A macro and the functions it calls; `unexplained` are those that only its project knows.

    `costs` are what has no bound in it; nothing allows these in a macro.
    """

    macro: Macro
    calls: tuple[Call, ...]
    unexplained: tuple[Call, ...] = ()
    costs: Costs = field(default_factory=Costs)


def read(root: Path, path: str) -> MacroFile:
    """Read one macro; what is no function of the file's name raises InvalidProject."""
    return _read(read_text(root, path), path)


@lru_cache(maxsize=128)
def _read(text: str, path: str) -> MacroFile:
    dialect.refuse_long(text, path)
    name = PurePosixPath(path).stem
    if found := [*templates.jinja(text, path)]:
        raise InvalidProject(found)
    statement = _parsed(text, path)
    if refused := [*_refusals(statement, name), *refusals.text_refusals(statement)]:
        raise InvalidProject(refused)
    called = calls(statement)
    return MacroFile(Macro(name, path, text), called, routines.unexplained(statement, called), costs.of(statement))


def in_order(files: Sequence[MacroFile]) -> tuple[Macro, ...]:
    """Order macros so that each is created after those it calls; a cycle or a double name raises InvalidProject."""
    if found := [*_duplicates(files), *_cycles(files)]:
        raise InvalidProject(found)
    macros = {file.macro.name: file.macro for file in files}
    return tuple(macros[name] for name in dag.order(_needs(files)))


def named_in(texts: Iterable[str], macros: Sequence[Macro]) -> tuple[Macro, ...]:
    """The macros that texts name, and those that these name in turn, in their order."""
    waiting, named = [*texts], set[Macro]()
    while waiting:
        words = {word.lower() for word in _WORD.findall(waiting.pop())}
        found = {macro for macro in macros if macro.name in words} - named
        named |= found
        waiting += [macro.text for macro in found]
    return tuple(macro for macro in macros if macro in named)


def with_macros(landing: Landing, macros: Sequence[Macro]) -> Landing:
    """A landing whose topics hold the macros that their own expressions name."""
    topics = (replace(topic, macros=named_in(topic.expressions, macros)) for topic in landing.topics)
    return replace(landing, topics=tuple(topics))


def _parsed(text: str, path: str) -> Statement:
    try:
        return dialect.parse(text, path, starts=("CREATE",))
    except InvalidProject as error:
        raise InvalidProject(_in_words(finding, text) for finding in error.findings) from None


def _in_words(finding: Finding, text: str) -> Finding:
    """Report what is expected where a macro cannot be read before its `return`: a type, or another part of the form."""
    before = sum(len(line) + 1 for line in text.split("\n")[: finding.place.line - 1])
    offset = before + finding.place.column - 1
    word = _WORD.match(text, offset)
    if not offset or word is None or _RETURN.search(text, 0, offset):
        return finding
    message = _no_type(word[0]) if _BEFORE_TYPE.search(text, 0, offset) else None
    return replace(finding, message=message or f"`{word[0]}` cannot be read here; a macro is one `{FORM}`")


def _no_type(word: str) -> str | None:
    try:
        fieldtypes.canonical(word)
    except ValueError as error:
        return str(error)
    return None


def _needs(files: Iterable[MacroFile]) -> dict[str, list[str]]:
    names = {file.macro.name for file in files}
    return {file.macro.name: sorted({call.name for call in file.calls} & names) for file in files}


def _cycles(files: Sequence[MacroFile]) -> Iterator[Finding]:
    places = {(file.macro.name, call.name): call.place for file in files for call in file.calls}
    for cycle in dag.cycles(_needs(files)):
        edges = [*zip(cycle, (*cycle[1:], cycle[0]), strict=True)]
        cycle_text = ", ".join(f"{name} calls {called} ({places[name, called]})" for name, called in edges)
        yield Finding(places[edges[0]], "cycle", f"macros may not call each other in a circle: {cycle_text}")


def _duplicates(files: Iterable[MacroFile]) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for file in files:
        name, path = file.macro.name, file.macro.path
        if first.setdefault(name, path) != path:
            yield Finding(Place(path), "duplicate-macro", f"macro {name} is also in {first[name]}; keep one of the two")


def _refusals(statement: Statement, name: str) -> Iterator[Finding]:
    tree, place = statement.tree, statement.place(statement.tokens[0].start)
    if not isinstance(tree, exp.Create) or tree.kind != "FUNCTION" or not isinstance(tree.expression, exp.Return):
        yield Finding(place, "not-allowed", f"a macro is one `{FORM}`")
    elif not tree.find(exp.TemporaryProperty):
        yield Finding(place, "not-allowed", f"a macro is temporary: `{FORM}`")
    elif tree.expression.find(exp.Query, exp.Table):
        yield Finding(place, "not-allowed", "a macro computes from its arguments and reads no table")
    elif (declared := tree.this.this.name) != name or not is_name(name):
        message = f"file {name}.sql must hold a function of that name, in lower case, and holds {declared}"
        yield Finding(place, "bad-name", message)

"""The calls of a text that are no allowed function: as Spark's lexer and sqlglot find them, each view for itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from sqlglot import exp

from headrace.errors import Finding, did_you_mean
from headrace.project.sql import lexing
from headrace.project.sql.calls import Call
from headrace.project.sql.dialect import Statement
from headrace.project.sql.guard.builtins import ALLOWED, BARE, NEVER, OPENING, UNLESS_ASKED
from headrace.project.sql.lexing import Routine

_OF_SPARK = (("builtin",), ("system", "builtin"))
_OF_SESSION = (("session",), ("system", "session"))
_WAY_OUT = "ask for it in `allow-functions` of manifest.yml, with a reason"


def unexplained(statement: Statement, calls: Iterable[Call]) -> tuple[Call, ...]:
    """The calls that only a project can explain: its macros, and what its manifest allows.

    A name with dots before it is one name: a function of a catalog.
    """
    found = {statement.place(at): name for name, at in strange(statement.text, statement)}
    found |= {call.place: call.name for call in calls if call.name not in ALLOWED and call.place not in found}
    return tuple(Call(name, place) for place, name in sorted(found.items()) if name not in NEVER)


def forbidden(text: str) -> Iterator[Routine]:
    """The calls of functions that leave SQL, whatever stands before their names."""
    yield from (routine for routine in lexing.routines(text) if routine.name in NEVER)


def findings(calls: Iterable[Call], known: Collection[str]) -> Iterator[Finding]:
    """Refuse the calls whose names a project does not know."""
    for call in calls:
        if call.name not in known:
            yield Finding(call.place, "not-allowed", complaint(call.name, known))


def complaint(name: str, known: Collection[str]) -> str:
    """Say why a function is refused, and what to do."""
    if reason := UNLESS_ASKED.get(name):
        return f"`{name}`: {reason}; take it out, or {_WAY_OUT}"
    return f"`{name}` is no function that is known to be safe.{did_you_mean(name, {*known, *ALLOWED})} Or {_WAY_OUT}"


def strange(text: str, statement: Statement) -> Iterator[tuple[str, int]]:
    """The calls, by Spark's lexer, of what is no allowed function: names and offsets. A tree tells only aliases."""
    aliases, taken = {*_aliases(statement)}, BARE | _accounts(statement)
    yield from ((name, at) for name, at in lexing.bare_names(text) if name in taken)
    for routine in lexing.routines(text):
        name = routine.name if routine.qualifier in _OF_SESSION else ".".join((*routine.qualifier, routine.name))
        is_word = routine.name in OPENING and not routine.is_quoted and not routine.qualifier
        is_alias = routine.offset in aliases and routine.name not in UNLESS_ASKED and not routine.qualifier
        if routine.qualifier in _OF_SPARK:
            name = routine.name
        if name not in ALLOWED and not is_word and not is_alias:
            yield name, routine.offset


def _accounts(statement: Statement) -> frozenset[str]:
    """`user`, where it can be no column: in a macro without such a parameter."""
    parameters = {each.name.lower() for each in statement.find_all(exp.ColumnDef)}
    if not isinstance(statement.tree, exp.Create) or "user" in parameters:
        return frozenset()
    return frozenset({"user"})


def _aliases(statement: Statement) -> Iterator[int]:
    """Where the aliases stand that list their columns: `as t(a, b)`."""
    for alias in statement.find_all(exp.TableAlias):
        if alias.args.get("columns") and alias.this is not None and "start" in alias.this.meta:
            yield alias.this.meta["start"]

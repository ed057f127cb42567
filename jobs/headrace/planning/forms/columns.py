"""Columns that steps make, and what a star, USING, or a clause after a table stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from sqlglot import Token, TokenType, exp

from headrace.errors import Place
from headrace.planning.forms import terms
from headrace.planning.forms.scope import Columns, Scope, called, written
from headrace.planning.forms.terms import Atom, Term, short, term
from headrace.planning.forms.types import is_null_of_nulls
from headrace.project.model import Input

DELAY = " delay of interval "
"""What stands in a WATERMARK clause between its column and its delay."""

_CODE = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL)


def word(key: str, place: Place | None, **notes: object) -> Term:
    """A part of a step that is no expression; `notes` say what it depends on."""
    made = exp.Var(this=key)
    made.meta.update(place=place, **notes)
    return Term(key, made)


def own(step: str, kind: str, *made_of: exp.Expr) -> exp.Expr:
    """A column that a step makes."""
    keys = " | ".join(map(terms.key, made_of))
    return terms.column(Atom(kind, short(f"{step}.{keys}"), made_of=made_of))


def passed(step: str, kind: str, columns: Columns) -> Columns:
    """The columns that a step makes of others, one of each, under their names."""
    return {name: called(own(step, kind, tree), written(tree, name)) for name, tree in columns.items()}


def sides(name: str, sources: tuple[tuple[str, Columns], ...]) -> Iterator[tuple[str, Columns]]:
    """The columns on both sides of a join, which keeps them as they are."""
    for at, (alias, columns) in enumerate(sources):
        side = "right" if at == len(sources) - 1 else "left"
        yield alias, passed(f"{name}.{side}", "side", columns)


def null_beside(step: str, sources: tuple[tuple[str, Columns], ...]) -> tuple[tuple[str, Columns], ...]:
    """The columns of that side of an outer join which is null where no row of it belongs to one of the other side.

    What is made of columns is made before the join: `coalesce(a, 0)` is null there, and would be 0 behind the join.
    """
    return tuple((alias, {name: _null_beside(step, each) for name, each in of.items()}) for alias, of in sources)


def _null_beside(step: str, tree: exp.Expr) -> exp.Expr:
    if is_null_of_nulls(tree):
        return tree
    made = terms.column(Atom("outer", f"{step}.outer({short(terms.key(tree))})", made_of=(tree,)))
    return called(made, str(tree.meta["name"])) if "name" in tree.meta else made


def all_of(sources: tuple[tuple[str, Columns], ...]) -> tuple[Term, ...]:
    """Every column of some tables, in their order."""
    return tuple(term(tree) for _, columns in sources for tree in columns.values())


def merged(scope: Scope, names: list[str], kind: str, join: exp.Join) -> Scope:
    """After USING, a column is there once: of the side that always has it."""
    if kind not in ("inner", "left"):
        raise scope.unsupported(join, f"`using` in a {kind} join")
    alias, columns = scope.sources[-1]
    left = {each: tree for each, tree in columns.items() if each not in names}
    used = (*names, *(each for each in scope.used if each not in names))
    return replace(scope, sources=(*scope.sources[:-1], (alias, left)), used=used)


def clauses(ref: Input, columns: Columns, scope: Scope, values: Mapping[str, Any]) -> tuple[Term, ...]:
    """The clauses after a table that sqlglot does not know, such as WATERMARK, with the values of parameters."""
    statement, end, found = scope.file.statement, ref.end, list[Term]()
    for clause in statement.left_out:
        between = statement.text[end : clause[0].start]
        if clause[0].start >= end and not _CODE.sub("", between).strip():
            variables = [each.text for colon, each in pairwise(clause) if colon.token_type == TokenType.COLON]
            named = [statement.place(each.start) for each in clause]
            text = _clause([*_words(clause, values)], columns)
            shown = statement.text[clause[0].start : clause[-1].end + 1]
            found.append(word(text, named[0], named=named, text=shown, variable=next(iter(variables), None)))
            end = clause[-1].end + 1
    return tuple(found)


def _words(clause: Sequence[Token], values: Mapping[str, Any]) -> Iterator[str]:
    for before, token in pairwise((None, *clause)):
        if before is not None and before.token_type == TokenType.COLON and token is not None:
            yield str(values[token.text])
        elif token is not None and token.token_type != TokenType.COLON:
            yield token.text if token.token_type == TokenType.STRING else token.text.lower()


def _clause(words: list[str], columns: Columns) -> str:
    if words[0] != "watermark" or words[2:5] != ["delay", "of", "interval"] or words[1] not in columns:
        return " ".join(words)
    return f"watermark {terms.key(columns[words[1]])}{DELAY}{terms.seconds(' '.join(words[5:]))}"

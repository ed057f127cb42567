"""One more branch of a `union all` in a model of Spark's streaming engine, whose checkpoint goes on with it.

Sources have names in the checkpoint, so one more begins with its first row, and the others go on where they were. State
is found by the number of a step among those that keep some. So a branch may be added that keeps none, reads streams
that were not read before, and makes columns of the types that there were. `tests/plan/test_unions.py` has Spark go on
so, also where the last batch was not committed.

A branch less is another matter: its source would start from the beginning if it ever came back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from sqlglot import Token, TokenType, exp

from headrace.planning.forms.columns import DELAY
from headrace.planning.forms.scope import NotUnderstood, parsed
from headrace.planning.forms.steps import Form, Step
from headrace.planning.forms.terms import deep, key
from headrace.planning.forms.types import TypeOf, type_of
from headrace.planning.verdict import Evidence, Reason, Verdict
from headrace.project.model import LANDING_COLUMNS, Model
from headrace.project.sql.dialect import Statement

_LANDED = (*(name for name, _ in LANDING_COLUMNS), "_arrival")
_BETWEEN = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT)


def added(old: Form, new: Form, model: Model, lowered: Callable[[Model], Form], column: TypeOf) -> Reason | None:
    """What one more branch does, if that is all that differs and the checkpoint goes on with it; else None."""
    for start, end in _spans(parsed(model.text, model.path)):
        try:
            rest = lowered(_without(model, start, end))
        except NotUnderstood:
            continue
        if _words(rest) == _words(old):
            return _reason(old, new, model, (start, end), column)
    return None


def _words(form: Form) -> tuple[str, ...]:
    return (*(f"{name} = {each.key}" for name, each in form.columns.items()), *form.root.keys())


def _without(model: Model, start: int, end: int) -> Model:
    """A model without a stretch of its text; all other words stay where they are."""
    gap = "".join(each if each == "\n" else " " for each in model.text[start:end])
    inputs = tuple(each for each in model.inputs if not start <= each.start < end)
    return replace(model, text=f"{model.text[:start]}{gap}{model.text[end:]}", inputs=inputs)


def _reason(old: Form, new: Form, model: Model, span: tuple[int, int], column: TypeOf) -> Reason | None:
    statement = parsed(model.text, model.path)
    first, last = (statement.place(at) for at in span)
    found = next(_sides(new.root, lambda step: any(first <= place < last for place in step.named)), None)
    if found is None or not _goes_on(old, new, *found, column):
        return None
    union, at = found
    read = {each.title for each in union.inputs[at].every() if each.kind == "scan" and each.moves}
    keeps = model.materialized == "upsert" or any(each.is_stateful for each in new.root.every())
    message = f"a branch of the union is new: {' and '.join(sorted(read))} is read from its first row on"
    message += "; those before the watermark are late" if keeps else ""
    verdict = Verdict.FORWARD if keeps else Verdict.KEEP
    return Reason(verdict, first, message, evidence=Evidence(at=union.inputs[at].named))


def _sides(step: Step, is_inside: Callable[[Step], bool]) -> Iterator[tuple[Step, int]]:
    """The union of which one side reads what stands in a stretch of the text, and nothing else; and which side."""
    for at, each in enumerate(step.inputs):
        scans = [one for one in each.every() if one.kind == "scan"]
        if step.kind == "union" and scans and all(map(is_inside, scans)):
            yield step, at
        yield from _sides(each, is_inside)


def _goes_on(old: Form, new: Form, union: Step, at: int, column: TypeOf) -> bool:
    """Whether a branch keeps no state, reads only streams that were not read, and makes no other columns."""
    steps = [*union.inputs[at].every()]
    known = {each.title for each in old.scans if each.moves}
    if any(each.is_stateful or (each.moves and each.title in known) for each in steps):
        return False
    atoms = deep(*(each.tree for each in (*new.columns.values(), *new.root.terms())))
    made = [each.made_of for each in atoms if each.kind == "union" and each.name.startswith(f"{union.name}.")]
    marks = frozenset(
        each.key.partition(DELAY)[0] for step in union.every() for each in step.parts.get("watermark", ())
    )
    return union.inputs[at].moves and all(_fits(each[at], each[1 - at], marks, column) for each in made)


def _fits(new: exp.Expr, old: exp.Expr, marks: frozenset[str], column: TypeOf) -> bool:
    """Whether a column keeps its type, its mark as event time and, as far as is certain, whether it can be null.

    Spark takes the mark from the first branch, and compares all three with those of the state that it finds.
    """
    ones, others = [*_made_of(new)], [*_made_of(old)]
    marked = {f"watermark {key(each)}" in marks for each in (*ones, *others)}
    if len(marked) > 1:
        return False
    if len({_landed(each) for each in (*ones, *others)} - {None}) == 1 and all(map(_landed, (*ones, *others))):
        return True
    types = {type_of(each, column) for each in (*ones, *others)} - {"void"}
    is_certain = len(types) == 1 and all(each is not None and "struct<" not in each for each in types)
    return is_certain and (all(map(_is_never_null, ones)) or any(map(_may_be_null, others)))


def _made_of(tree: exp.Expr) -> Iterator[exp.Expr]:
    """What all branches make a column of."""
    atom = tree.unnest().meta.get("atom")
    if atom is None or atom.kind != "union":
        yield tree
    else:
        for each in atom.made_of:
            yield from _made_of(each)


def _landed(tree: exp.Expr) -> str | None:
    """The column that a record has as it landed, the same for all sources; None for any other value."""
    atom = tree.unnest().meta.get("atom")
    if atom is None or not atom.table.startswith("bronze.") or atom.column not in _LANDED:
        return None
    return str(atom.column)


def _may_be_null(tree: exp.Expr) -> bool:
    atom = tree.unnest().meta.get("atom")
    return atom is not None and atom.kind == "column" and atom.column not in _LANDED


def _is_never_null(tree: exp.Expr) -> bool:
    return isinstance(tree.unnest(), (exp.Literal, exp.Boolean))


def _spans(statement: Statement) -> Iterator[tuple[int, int]]:
    """Where branches of a `union all` stand, each with the words that join it to another one."""
    tokens = statement.tokens
    for at, (token, follower) in enumerate(pairwise(tokens)):
        if token.token_type == TokenType.UNION and follower.token_type == TokenType.ALL:
            yield token.start, tokens[_last(tokens, at + 2)].end + 1
            yield tokens[_first(tokens, at)].start, follower.end + 1


def _last(tokens: Sequence[Token], at: int) -> int:
    """The last word of the branch that begins at a word."""
    depth = 0
    for end in range(at, len(tokens)):
        depth += (tokens[end].token_type == TokenType.L_PAREN) - (tokens[end].token_type == TokenType.R_PAREN)
        if depth < 0 or (depth == 0 and tokens[end].token_type in _BETWEEN):
            return end - 1
    return len(tokens) - 1


def _first(tokens: Sequence[Token], at: int) -> int:
    """The first word of the branch before a word."""
    depth, first = 0, at
    for start in range(at - 1, -1, -1):
        depth += (tokens[start].token_type == TokenType.R_PAREN) - (tokens[start].token_type == TokenType.L_PAREN)
        if depth < 0 or (depth == 0 and tokens[start].token_type in _BETWEEN):
            break
        first = start if depth == 0 and tokens[start].token_type == TokenType.SELECT else first
    return first

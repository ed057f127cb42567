"""Members of structs and entries of maps: `a.b` and `a['b']` are the same, and only fields have no case."""

from __future__ import annotations

from sqlglot import exp

from headrace.planning.declared import Declared
from headrace.planning.forms import terms
from headrace.planning.forms.durations import TypeOf


def named(node: exp.Expr, declared: Declared, type_of: TypeOf) -> exp.Expr:
    """A resolved node; one that takes a member by its name, in one form."""
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        return member(node.this, node.expression.name, declared, type_of)
    if isinstance(node, exp.Bracket) and len(node.expressions) == 1:
        (index,) = node.expressions
        if isinstance(index, exp.Literal) and index.is_string:
            return member(node.this, index.name, declared, type_of)
    return node


def member(base: exp.Expr, name: str, declared: Declared, type_of: TypeOf) -> exp.Expr:
    """A member of a resolved expression: a field, whose case does not matter, or perhaps an entry of a map."""
    atom = base.meta.get("atom")
    if atom is not None and atom.kind == "column" and atom.column == "data":
        made = terms.column(atom.member(_field(atom.table, name, declared)), base.meta.get("place"))
        made.meta["named"] = base.meta.get("named", ())
        return made
    is_made = (isinstance(base, exp.Column) and atom is None) or isinstance(base.unnest(), exp.Struct)
    is_struct = is_made or (type_of(base) or "").removeprefix("array<").startswith("struct<")
    return exp.Dot(this=base, expression=exp.Identifier(this=name.lower() if is_struct else name))


def _field(table: str, name: str, declared: Declared) -> str:
    """The name of a source's field as it is declared."""
    topic = declared.topics[table][1] if table in declared.topics else None
    known = [each.name for each in topic.fields] if topic else []
    alike = [each for each in known if each.lower() == name.lower()]
    return alike[0] if name not in known and len(alike) == 1 else name

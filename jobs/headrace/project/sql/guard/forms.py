"""The calls of a tree whose functions are names with arguments, by name: sqlglot keeps a few of them as their own."""

from __future__ import annotations

from sqlglot import exp

from headrace.project.sql import dialect

_NAMES: dict[str, str] = {
    "arraysize": "size", "arraytostring": "array_join", "arrayszip": "arrays_zip", "concatws": "concat_ws",
    "dpipe": "concat", "ilike": "ilike", "jsonformat": "to_json", "like": "like", "regexplike": "rlike",
}  # fmt: skip


def written(text: str, path: str) -> exp.Expr:
    """The tree of a text that can be read, in which functions are what is written. It is shared: leave it as it is."""
    return dialect.parse_as_written(text, path).tree


def name_of(node: exp.Expr) -> str | None:
    """The name of the function that a node calls, operators that are calls included; None for any other node."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    if isinstance(node, (exp.Func, exp.DPipe, exp.Like, exp.ILike)):
        return _NAMES.get(node.key, node.key)
    return None


def arguments(node: exp.Expr) -> list[exp.Expr]:
    """The arguments of a call."""
    return node.expressions if isinstance(node, exp.Anonymous) else [*node.iter_expressions()]


def is_constant(node: exp.Expr) -> bool:
    """Whether a value depends on no row, and on no variable."""
    return node.find(exp.Identifier, exp.Placeholder, exp.Query) is None


def offset(node: exp.Expr) -> int:
    """Where a node starts in its text, as nearly as is known."""
    return min((int(each.meta["start"]) for each in node.walk() if "start" in each.meta), default=0)


def text_of(node: exp.Expr) -> str | None:
    """The text that a literal stands for in Spark; None for anything else."""
    if isinstance(node, exp.RawString):
        return str(node.name)
    if isinstance(node, exp.Literal) and node.is_string:
        return str(node.name).replace("\\\\", "\\")  # sqlglot leaves this one escape as it is
    if isinstance(node, exp.Paren):
        return text_of(node.this)
    is_one = isinstance(node, exp.Concat) and not node.args.get("safe")  # texts after each other
    parts = [text_of(each) for each in node.expressions] if is_one else [None]
    return None if None in parts else "".join(part or "" for part in parts)

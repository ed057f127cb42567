"""A CTE that streams and that nothing reads, in a model of the streaming engine.

Spark 4.2 counts its stream among the sources of the query and leaves it out of what it runs. If it has a watermark,
that one never moves, and the query waits for the slowest of all: no window is ever closed, without a word.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from headrace.errors import Finding
from headrace.project.flows.draft import Draft, streaming_files

_MESSAGE = "nothing reads `{name}`, but Spark would wait for its stream forever; remove it"


def unused_streams(draft: Draft) -> Iterator[Finding]:
    """What streams is read."""
    for flow in streaming_files(draft):
        scopes = flow.tracing.scopes
        read = _read(scopes[-1])
        for scope in scopes:
            cte = scope.expression.parent
            if isinstance(cte, exp.CTE) and id(scope) not in read and flow.moves(scope):
                yield Finding(flow.place(cte), "unused-stream", _MESSAGE.format(name=cte.alias))


def _read(scope: Scope) -> set[int]:
    """The identity of a scope, and of all that it reads, however far away."""
    found, waiting = set[int](), [scope]
    while waiting:
        each = waiting.pop()
        if id(each) not in found:
            found.add(id(each))
            waiting += _read_at_once(each)
    return found


def _read_at_once(scope: Scope) -> Iterator[Scope]:
    sources = (scope.sources.get(alias) for alias, _ in scope.references)
    yield from (source for source in sources if isinstance(source, Scope))
    for below in (scope.subquery_scopes, scope.derived_table_scopes, scope.udtf_scopes, scope.set_operation_scopes):
        yield from below or ()

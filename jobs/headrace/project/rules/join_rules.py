"""Rules about joins of a stream and a table."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.errors import Finding
from headrace.project.flows import joins
from headrace.project.flows.draft import Draft


def static_joins(draft: Draft) -> Iterator[Finding]:
    """A table that is joined with a stream is looked up; it cannot wait for the stream."""
    for join in joins.of_streaming_models(draft):
        left, right = join.moves(*join.left), join.moves(join.right)
        waits = {"left": not left and right, "right": left and not right, "full": left != right}
        if waits.get(join.side) or (join.side in ("semi", "anti") and not left and right):
            message = "every row of the table would have to wait for the end of the stream; put the stream on the side"
            yield Finding(join.place, "cannot-stream", f"{message} that is kept: `from stream ... left join table`")

"""A join of two streams without a bound on the time between them."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.errors import Finding
from headrace.project.flows.draft import Draft
from headrace.project.flows.joins import of_streams


def unbounded_joins(draft: Draft) -> Iterator[Finding]:
    """Two streams are joined within a time, otherwise both are stored permanently."""
    for join in of_streams(draft):
        if not join.has_equality():
            message = "two streams without an equality between them fail at the first row; join on a key"
            yield Finding(join.place, "cannot-stream", message)
        elif join.side == "inner" and not (join.has_time_bound() and join.is_watermarked(*join.left, join.right)):
            message = "both streams stay in state forever; bound the time: `and r.time between l.time - interval 1 hour"
            yield Finding(
                join.place, "unbounded-join", f"{message} and l.time + interval 1 hour`, with a WATERMARK on both"
            )

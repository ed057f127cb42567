"""An outer join of streams that can never decide that no partner comes."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.errors import Finding
from headrace.project.flows.draft import Draft
from headrace.project.flows.joins import of_streams


def outer_joins(draft: Draft) -> Iterator[Finding]:
    """An outer join of streams knows when a partner can no longer come."""
    for join in of_streams(draft):
        if join.side == "anti":
            message = "`anti join` of two streams cannot run; write `left join ... where right.key is null` with a time"
            yield Finding(join.place, "cannot-stream", f"{message} bound, or let it run per micro-batch")
        elif join.side in ("left", "right", "full") and join.update:
            message = f"`{join.side} join` of two streams cannot run in update mode; write `output_mode: append`"
            yield Finding(join.place, "cannot-stream", message)
        elif join.side in ("left", "right", "full") and not join.ends_kept_rows():
            message = f"`{join.side} join` never knows that no partner comes, and never gives such a row; it needs a"
            yield Finding(
                join.place,
                "outer-join",
                f"{message} WATERMARK on both sides, and a bound on the time between the columns of these two: "
                "`r.time between l.time and l.time + interval 1 hour`",
            )
        elif join.side == "semi" and not (join.is_watermarked(join.right) and join.has_time_bound()):
            message = "`semi join` never knows that no partner comes; it needs a WATERMARK on the right side"
            yield Finding(join.place, "outer-join", f"{message} and a bound on the time between both")

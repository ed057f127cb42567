"""An outer join of streams that can never decide that no partner comes."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.errors import Finding
from headrace.project.flows.draft import Draft
from headrace.project.flows.joins import of_streams


def outer_joins(draft: Draft) -> Iterator[Finding]:
    """An outer join of streams knows when a partner can no longer come."""
    for join in of_streams(draft):
        needed = {"left": (join.right,), "semi": (join.right,), "right": join.left, "full": (*join.left, join.right)}
        if join.side == "anti":
            message = "`anti join` of two streams cannot run; write `left join ... where right.key is null` with a time"
            yield Finding(join.place, "cannot-stream", f"{message} bound, or let it run per micro-batch")
        elif join.side in ("left", "right", "full") and join.update:
            message = f"`{join.side} join` of two streams cannot run in update mode; write `output_mode: append`"
            yield Finding(join.place, "cannot-stream", message)
        elif join.side in needed and not (join.is_watermarked(*needed[join.side]) and join.has_time_bound()):
            which = {"right": "left", "full": "left or the right"}.get(join.side, "right")
            message = f"`{join.side} join` never knows that no partner comes; it needs a WATERMARK on the {which} side"
            yield Finding(join.place, "outer-join", f"{message} and a bound on the time between both")

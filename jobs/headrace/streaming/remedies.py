"""Spark's refusals of a streaming query, explained, each with a way to fix it."""

from __future__ import annotations

import re

_OTHER_ENGINE = "or take the WATERMARK out: per micro-batch all batch SQL runs"

REMEDIES: tuple[tuple[str, str], ...] = (
    (
        r"join between two streaming .* not supported in Update output mode",
        "an outer join of two streams tells its rows once, when no partner can come; write `output_mode: append`",
    ),
    (
        r"Stream-stream .*join.* not supported without a watermark",
        "an outer join of two streams needs a WATERMARK on both sides and a bound on the time"
        " between both, such as `r.time between l.time - interval 1 hour and l.time`",
    ),
    (
        r"correctness.? issue due to global watermark",
        "rows that leave one stateful step late would be dropped by the next; write `output_mode: append`,"
        " or make two models of it",
    ),
    (
        r"LeftAnti joins? with a streaming",
        "`anti join` of two streams cannot run; write `left join ... where right.key is null` with a time bound",
    ),
    (
        r"(Right|Left|Full)Outer join with a streaming|outer join.* static",
        "every row of the table would wait for the end of the stream; put the stream on the side that is kept",
    ),
    (
        r"NON_TIME_WINDOW_NOT_SUPPORTED",
        f"`over (...)` ranks rows, and a stream never has them all; group by `window(...)`, {_OTHER_ENGINE}",
    ),
    (
        r"INVALID_SUBQUERY_EXPRESSION\.STREAMING_QUERY|STREAMING_QUERY.*subquery",
        "a stream inside `in`, `exists` or a value cannot run; write `left semi join` with a time bound",
    ),
    (
        r"UNSUPPORTED_STREAMING_OPERATOR_WITHOUT_WATERMARK|aggregations? .*without watermark"
        r"|STREAMING_OUTPUT_MODE\.UNSUPPORTED_OPERATION",
        "a row may leave only once its group is final; give the stream a WATERMARK and group by `window(...)` or the"
        f" event time, write `output_mode: update`, {_OTHER_ENGINE}",
    ),
    (
        r"Distinct aggregations are not supported",
        "`distinct` in an aggregate cannot stream; group by the value in one model and count in the next",
    ),
    (r"Sorting is not supported", "a stream cannot be sorted; sort where the table is read"),
    (
        r"(Intersect|Except) (operator )?.*(not supported|streaming)|Except on a streaming",
        "streams cannot be compared as sets; write a semi join, or a left join with a time bound",
    ),
    (
        r"Limits? are not supported|OFFSET is not supported",
        "`limit` and `offset` need the end of the stream; take it out",
    ),
)
"""A pattern of Spark's message, and what it means; the first that matches counts."""


def remedy(message: str) -> str | None:
    """Return what to do about a refusal, or None where Spark's own message must do."""
    return next((text for pattern, text in REMEDIES if re.search(pattern, message, re.IGNORECASE | re.DOTALL)), None)

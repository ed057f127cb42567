"""A second watermark on one stream."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.errors import Finding
from headrace.project.flows.draft import Draft, streaming_flows


def second_watermarks(draft: Draft) -> Iterator[Finding]:
    """A stream has one watermark, else it fails at the first row."""
    seen = set()
    for _, flow in streaming_flows(draft):
        for scope in flow.selects:
            for alias, clause in flow.clauses(scope):
                if clause.place not in seen and flow.was_watermarked(alias, scope):
                    seen.add(clause.place)
                    message = f"{alias} has a watermark already; take this one out, or the one in what it reads"
                    yield Finding(clause.place, "second-watermark", message)

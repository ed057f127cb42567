"""The time of the batch in a model of the streaming engine."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.errors import Finding
from headrace.project.flows.draft import Draft, streaming_files

CLOCKS = frozenset({"current_timestamp", "current_date", "current_time", "curdate", "localtimestamp", "now"})


def clocks_in_streams(draft: Draft) -> Iterator[Finding]:
    """A model in the streaming engine gives the same rows when it is built again from the same input."""
    for file in streaming_files(draft):
        for call in file.file.text.calls:
            if call.name in CLOCKS or (call.name == "unix_timestamp" and not call.has_arguments):
                message = f"`{call.name}` is the time of the batch, and another one when the model is built again"
                yield Finding(call.place, "current-time", f"{message}; use the event time or `landed_at`")

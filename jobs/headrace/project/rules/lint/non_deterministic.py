"""A non-deterministic function in a model of the streaming engine."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.errors import Finding
from headrace.project.flows.draft import Draft, streaming_files
from headrace.project.rules.engine_rules import samples

FUNCTIONS = frozenset(
    {"monotonically_increasing_id", "rand", "randn", "random", "randstr", "shuffle", "uniform", "uuid"}
)


def non_deterministic_streams(draft: Draft) -> Iterator[Finding]:
    """A batch that runs again gives the same rows."""
    for file in streaming_files(draft):
        yield from samples(file.file)
        for call in file.file.text.calls:
            if call.name in FUNCTIONS:
                message = f"`{call.name}` differs when a batch runs again; make the value from columns, such as a hash"
                yield Finding(call.place, "non-deterministic", message)

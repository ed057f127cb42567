"""What makes a project wrong although each of its files can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.errors import Finding
from headrace.project.draft import Draft
from headrace.project.engine_rules import (
    cycles,
    micro_batch_limits,
    streaming_limits,
    two_landings,
    two_queries,
    unstable_calls,
)
from headrace.project.reading_rules import (
    missing_parameters,
    missing_streams,
    stars_from_tables,
    unknown_columns,
    unknown_tables,
)
from headrace.project.writing_rules import (
    duplicate_models,
    needless_keys,
    two_publishers,
    unknown_output_columns,
    upserts_without_key,
)

Rule = Callable[[Draft], Iterable[Finding]]

RULES: tuple[Rule, ...] = (
    duplicate_models,
    unknown_tables,
    unknown_columns,
    missing_parameters,
    stars_from_tables,
    missing_streams,
    cycles,
    needless_keys,
    upserts_without_key,
    unknown_output_columns,
    two_publishers,
    micro_batch_limits,
    streaming_limits,
    two_landings,
    two_queries,
    unstable_calls,
)


def check(draft: Draft) -> list[Finding]:
    """Return what all rules find."""
    return [finding for rule in RULES for finding in rule(draft)]

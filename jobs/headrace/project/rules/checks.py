"""What makes a project wrong although each of its files can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.errors import Finding
from headrace.project.flows.draft import Draft
from headrace.project.rules import allowances
from headrace.project.rules.column_rules import column_names
from headrace.project.rules.cost_rules import unbounded_costs
from headrace.project.rules.cut_rules import cut_dependent
from headrace.project.rules.duration_rules import durations
from headrace.project.rules.engine_rules import (
    cycles,
    micro_batch_limits,
    snapshot_limits,
    streaming_limits,
    two_landings,
    two_queries,
    unstable_calls,
    unstable_landings,
    unstable_picks,
)
from headrace.project.rules.event_time_rules import two_event_times
from headrace.project.rules.function_rules import unknown_functions
from headrace.project.rules.join_rules import static_joins
from headrace.project.rules.lint.concatenated_key import concatenated_keys
from headrace.project.rules.lint.cross_join import cross_joins
from headrace.project.rules.lint.current_time import clocks_in_streams
from headrace.project.rules.lint.non_deterministic import non_deterministic_streams
from headrace.project.rules.lint.outer_join import outer_joins
from headrace.project.rules.lint.processing_time import processing_time_windows
from headrace.project.rules.lint.second_watermark import second_watermarks
from headrace.project.rules.lint.star_from_table import stars_from_tables
from headrace.project.rules.lint.unbounded_join import unbounded_joins
from headrace.project.rules.lint.unbounded_state import unbounded_aggregates
from headrace.project.rules.lint.unused_stream import unused_streams
from headrace.project.rules.lookup_rules import lookups_before_the_batch, versions_as_of_arrival
from headrace.project.rules.reading_rules import (
    missing_parameters,
    missing_streams,
    misused_versions,
    unknown_columns,
    unknown_event_times,
    unknown_tables,
)
from headrace.project.rules.stream_rules import (
    distinct_counts,
    ranked_streams,
    session_windows,
    sorted_streams,
    stream_set_operations,
    stream_subqueries,
)
from headrace.project.rules.writing_rules import (
    duplicate_models,
    kept_state,
    logs_without_order,
    needless_keys,
    open_contracts,
    two_publishers,
    undeclared_columns,
    unknown_fields,
    unknown_output_columns,
    unknown_relationships,
    unnamed_columns,
    upserts_without_key,
)

Rule = Callable[[Draft], Iterable[Finding]]

RULES: tuple[Rule, ...] = (
    duplicate_models,
    unknown_tables,
    unknown_columns,
    unknown_event_times,
    unknown_functions,
    unbounded_costs,
    missing_parameters,
    durations,
    stars_from_tables,
    missing_streams,
    misused_versions,
    cycles,
    needless_keys,
    kept_state,
    open_contracts,
    unnamed_columns,
    column_names,
    upserts_without_key,
    logs_without_order,
    unknown_output_columns,
    undeclared_columns,
    unknown_relationships,
    unknown_fields,
    two_publishers,
    micro_batch_limits,
    streaming_limits,
    snapshot_limits,
    two_landings,
    two_queries,
    unstable_calls,
    unstable_landings,
    unstable_picks,
    cut_dependent,
    lookups_before_the_batch,
    versions_as_of_arrival,
    ranked_streams,
    sorted_streams,
    distinct_counts,
    stream_subqueries,
    stream_set_operations,
    session_windows,
    two_event_times,
    unbounded_aggregates,
    unbounded_joins,
    cross_joins,
    outer_joins,
    static_joins,
    second_watermarks,
    unused_streams,
    concatenated_keys,
    clocks_in_streams,
    non_deterministic_streams,
    processing_time_windows,
)


def check(draft: Draft) -> list[Finding]:
    """Return what all rules find and no header allows."""
    return allowances.applied([finding for rule in RULES for finding in rule(draft)], draft)

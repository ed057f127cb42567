"""`*` of a stored table."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.errors import Finding
from headrace.project.flows.draft import Draft


def stars_from_tables(draft: Draft) -> Iterator[Finding]:
    """`*` takes its columns from CTEs only, so that a model's columns are in its text."""
    for file in draft.files:
        for place in file.text.stars:
            yield Finding(place, "star-from-table", "`*` of a stored table; list the columns that you use in a CTE")

"""The scenarios are data: pytest need not look for tests in their many folders."""

collect_ignore = ["scenarios"]

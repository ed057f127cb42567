"""What Spark says of a project's SQL before anything runs: types, names, and whether it can run as declared.

- `analysis`: every model over empty tables, in order, its streams judged by the streaming engine's own checker.
- `column_types`, `compared_types`: what would run once and then keep a table from being opened, or fail at its first
  row.
- `verdict`: the answer, kept per user, so that an unchanged project is not asked for again.

Invariant: whatever passes starts (`tests/spark/test_agreement.py`). It writes no table. What can be found without
Spark is found in `project`.
"""

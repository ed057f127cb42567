"""Spark's analysis of a project's SQL before anything runs: types, names, and whether it can run as declared.

- `analysis`: every model over empty tables, in order, streams checked by the streaming engine's own checker.
- `column_types`, `compared_types`: types with which a table could not be opened again, or a query would fail at its
  first row.
- `parsed`: what Spark's own parser sees of a text, compared with what the guard allows.
- `verdict`: the result, cached per user, so that an unchanged project is not analysed again.

Invariant: whatever passes starts (`tests/spark/test_agreement.py`). It writes no table. What can be found without
Spark is found in `project`.
"""

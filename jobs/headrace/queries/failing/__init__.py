"""Rows that make a model's SQL fail: found, named or set aside, and delivered again to the mended model.

- `faults`: an error of a value, as Spark reports it, and where its clause is. `culprits`: which rows cause it, with as
  few trials as possible; `search` makes them.
- `poison`: rows that a model is run without, as the inputs of a batch record them.
- `redelivery`, `replaying_rows`: such rows, delivered again once.

Rule: the same rows are found wherever batches are cut; a trial writes nothing.
"""

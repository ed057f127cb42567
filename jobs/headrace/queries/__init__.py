"""Queries per micro-batch: a group of models in dependency order, or a snapshot.

A batch goes: inputs recorded; SQL; failed rows and outputs committed; then state. A batch that is run again reads the
same inputs, and takes back what is committed already instead of computing it.

- `group`, `inputs`, `batch`: the batch and its recorded inputs. `routine`: models in order, each over the rows of those
  before; `references`: what a model's references stand for.
- `positions`: what was read and written, compared with the tables that exist.
- `intake`, `sources`: what is read, in whole commits. `outputs`: append and upsert tables, `once_per`, `close_when`.
- `datatests`, `batch_tests`, `refused_changes`: rows that may not go on. `failing`: rows that make the SQL fail, and
  those delivered again to a fixed model, once.
- `snapshot`: all rows of a query, every few seconds. `scheduler`: few batches at once, in an order.

Invariant: results depend on what landed and in which order, never on where batches are cut, nor on restarts.
"""

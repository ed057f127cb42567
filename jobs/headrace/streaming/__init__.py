"""Queries with a WATERMARK clause, which Spark's streaming engine runs.

Spark's checkpoint says where such a query is. Each of its batches is appended with the marker `{query, batch}`; the
first one after a start is looked up, so a repeated batch is not added twice. What Spark has recorded of a batch is
synced before its rows are written, so a power loss takes no more than what is repeated.

- `query`: when it runs, and how far it is. `streams`: its text over what it reads, and the ticks.
- `output`: each batch is written once.
- `source_names`: the name of each read in the checkpoint, which edits do not change. `offset_log`: how far each was
  read.
- `positions`: the checkpoint, compared with the tables it reads and the one it writes.
- `late`: rows that came too late, stored in `bronze.late_rows` before the batch's own rows.
- `remedies`: Spark's refusals, explained.

Invariant: a row is in the table once, or among the late rows.
"""

"""Where a project's data lie: a folder of a disk or HDFS or a prefix of a bucket, its layout, and its tables' commits.

- `paths`: a path of each kind, with the same calls; `buckets`: what a store elsewhere is asked for; `hadoop`,
  `connectors`: how Spark names and reaches it; `layout`.
- `durable`, `trees`: files that are complete or not there; whole folders. `reaching`: a store's refusals in one line.
- `json_files`: JSON files that are read whole, or refused by name; `damage`: data files of which a reader complains.
- `lease`: one process at a time runs, rebuilds a query or sends letters; for clear messages, as no row depends on it.
- `commits`, `history`: the commits of a table, from its log and from what stays of those that have left it.
- `maintenance`, `parquet`: what keeps a table small however old it gets.
- `removal`: data files that were replaced, and drafts of killed writers.
- `retention`: which rows of a table are older than it is to keep.

Rules: everything small goes through here; data files and checkpoints are Spark's. `durable.write_new` never replaces
what another process has written, and tells its caller by FileExistsError, so of two writers of one entry only one wins.
On a disk, the data files that an entry of a log names are synced before it, and the entry before `put_entry` returns:
a power loss takes nothing that anybody builds on.
"""

"""Delta tables commit by commit: one writer, one commit per batch, and what is cached of them in memory.

- `commit_log`: the commits of a table as a reader meets them.
- `delta`: a commit is files, then one entry of the log that must not exist before. It carries its writer's marker
  `{query, batch, ...}`, by which a replay finds what is committed already.
- `state`: the current rows of an upsert, from its change log. The log is the truth; the copy changes after a commit. A
  start goes on from the rows that were stored last.
- `closed_keys`: which keys are closed permanently (`once_per`, `close_when`), with an index that is never read whole.
- `versions`, `validity`: since when each row of an upsert held, and until when.
- `foreign`: what others commit: followed where only files change, else refused at the next commit and by a start.
- `positions`: how far a reader has gone, compared with what exists of the table.
- `current`, `diff`: for readers outside; `commit_cache`, `recent_output`: the newest commits, for
  whoever reads them next.

Rules: no writer here rewrites rows that were appended. Readers take whole commits, in order. Nothing here knows which
query it is.
"""

"""What keeps a table small however old it gets, while others read and write it.

- `passes`: what one pass over a table does, and when one is worth it; `compaction`: which small files become one.
- `rewriting`: a commit of maintenance, which takes some files out of a table and may put others in their place.
- `retention`: which rows are older than a table is to keep; `superseded`: which of the old changes in a change log a
  later one of the same key has replaced.

Rules: nothing here needs a lock, a slot or Spark; a step that is interrupted is made good by the next pass.
"""

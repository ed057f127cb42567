"""A user's SQL with Spark's semantics, without Spark.

A text is parsed as Spark's SQL (`parsing`), each of its expressions gets the type that Spark would give it (`types`,
`scopes`), and DuckDB's SQL for it is written with every cast spelled out (`expressions`, `queries`). Only what is on
the lists of `expressions`, `functions` and `aggregates` is translated; a test compares what they hold with Spark. All
else is left to Spark: the error names the position and the way out (`complaints`). DuckDB (`engine`) sees streams of
Arrow rows and nothing else.
"""

"""What makes a project wrong although each of its files can be read, as findings at their place.

`checks` lists all rules in order. A module holds the rules of one subject; `lint/` those that a model's header may
allow with a reason (`allowances`). A rule takes a `Draft` and yields findings; it reads no files and asks no Spark.
Each finding has a stable code, which docs/models.md explains.
"""

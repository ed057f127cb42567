"""What the text of one query says, without Spark: tokens, names, calls, clauses, columns.

Two readers agree on a text: `lexing` cuts it as Spark's own lexer does, `dialect` parses it with sqlglot. `sqltext`
collects what a model's text contains; the room `guard` says what no text may do. `tables`, `calls`, `watermarks`,
`scopes`, `selects`, `tracing` and `result_columns` each answer one question about a tree; `emptiness` says when a query
returns no rows. Nothing here knows a model's header, other models, or YAML.
"""

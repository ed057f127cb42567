"""What no SQL of a project may do, decided on its text, without Spark: an allow-list that fails closed.

Every SQL of a user passes here before Spark sees it: models, macros, expressions in headers and sources, `sql`,
`--where`, notebooks. What is not known is refused, at its place.

- `builtins`: Spark's functions, each allowed, refused unless asked for, or never allowed, with the reason.
- `routines`: the calls of a text that are no allowed function, as Spark's lexer and sqlglot find them.
- `kinds`: the kinds of nodes that a query, an expression and a macro consist of.
- `options`: arguments that read a file.
- `sizes`: arguments that make more than memory holds; `bounds` and `steps` tell how large they may be.
- `growth/`: what doubles with each element, or from one query to the next.
- `patterns`: regular expressions of rows, or that never end, which `regexes` reads and `runtimes` judges.
- `costs`: those of these that a model's header may allow. `forms` is the tree that they read.
- `readings`: where sqlglot cuts a text in other places than Spark does.
- `refusals`: all of these together, as findings.

Names that only a project can explain (its macros, `allow-functions` of manifest.yml) are collected here and judged by
a rule. `headrace check` asks Spark's own parser the same questions (`checking/parsed.py`).
"""

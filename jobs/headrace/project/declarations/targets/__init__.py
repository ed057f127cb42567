"""What stands in a file of conf/, and what becomes of it.

- `shape`: the keys and their types. `references`: the environment's variables, and what `env:` and `file:` refer to.
- `folders`: where a target keeps its data. `findings`: what is well-formed and cannot work.

`declarations/target` puts them together.
"""

"""The files of a project, each read by itself: YAML, headers of models, macros, seeds, targets.

`documents` reads YAML whose values know their line and column; `shapes` says what kinds of values there are. One module
for each kind of file: `manifest`, `target`, `landings`, `modelfile` with its `header`, `settings` and `datatests`,
`macros`, `seeds`. All that is wrong in a file is reported at its place, and at once. Nothing here compares two files.
"""

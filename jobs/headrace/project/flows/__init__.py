"""What moves between the models of a project: streams, snapshots, joins, versions, event times.

`draft` is a project as far as it could be read. `flow` knows of each relation in a text whether it is a stream;
`joins`, `movement`, `equivalences` and `own_rows` follow rows through joins, time and a model's own past;
`row_keys` knows what tells rows apart, and `folds` whether a batch goes on from what is stored. `versions` and `as_of`
are about lookups as of a moment. Rules decide; here is only what they ask.
"""

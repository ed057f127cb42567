"""Which keys are closed permanently (`once_per`, `close_when`), asked for in every batch and never read whole.

- `index`: fingerprints of all closed keys of a table, the newest of them in memory.
- `runs`: the files next to the table in which the others are stored; made again from it whenever they do not fit.
- `bloom`: filters in memory, by which most keys are known to be new without a look into the files.
"""

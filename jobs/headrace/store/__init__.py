"""Where a target's data lie: the layout of a data directory, and files that survive a crash.

Everything small that headrace writes itself goes through here: entries of Delta logs, recorded inputs, notes. Data
files and checkpoints are Spark's. Today a store is a folder of a local disk.

Rules: a file is complete or not there; `durable.write_new` never replaces what another process has written, and tells
its caller by FileExistsError, so of two writers of one entry only one wins.
Who may write is a matter of the store's lease (`lease`), which is for clear words; no row depends on it.
"""

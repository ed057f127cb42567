"""What a store elsewhere is asked for: `bucket`, an object store; `hdfs`, a folder of Hadoop's file system.

Both have the same methods, named by keys: paths relative to the store's URL, with `/` between their parts. Rules:

- `put` with `create` makes a file whole or not at all, and of two writers of a key one wins; FileExistsError for the
  other. `overwrite` replaces it whole.
- `replace_version` puts a file in place of the version that was read; of two writers of one version one wins.
- FileNotFoundError says that there is no such file; whatever else goes wrong is an EnvironmentFault of one line.
"""

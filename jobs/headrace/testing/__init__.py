"""Model tests as data: YAML cases that pytest runs, each cut into micro-batches in three ways."""

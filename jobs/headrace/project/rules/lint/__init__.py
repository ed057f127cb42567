"""House lint, one rule a file: what Spark would run, and nobody should rely on; a header may allow some of it."""

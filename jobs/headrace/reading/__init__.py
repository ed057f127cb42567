"""Looking at a project without Spark: tables, topics and the runner's status."""

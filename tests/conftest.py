"""What all tests share: model tests, and the one Spark session."""

pytest_plugins = ["headrace.testing.plugin"]

"""The REST service: orders and stored tables over HTTP, without Spark."""

"""Plain Spark SQL over Kafka and Delta, run as exactly-once streaming queries."""

__version__ = "0.1.0"

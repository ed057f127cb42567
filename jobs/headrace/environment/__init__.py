"""What headrace needs outside itself: Java, jars and a Kafka broker."""

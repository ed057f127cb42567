"""What a project declares, read and checked without a JVM."""

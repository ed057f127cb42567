"""Errors of Spark and Py4J by their names alone, for code that imports neither: it also runs without a JVM."""

from __future__ import annotations

LIBRARIES = ("py4j", "pyspark")
"""The packages that embed Java's error text in errors of their own."""

JVM_ENDED = "Py4JNetworkError"
"""The class of errors by which Py4J reports that its JVM has gone."""

STOPPED = "py4j.protocol.Py4JJavaError: An error occurred while calling a batch: java.lang.InterruptedException"
"""How Spark's streaming engine recognizes that a batch failed because its query was stopped.

It searches the message by a regular expression that recurses for every character. With the JVM's own stack trace in it,
the message of an interrupted job ends the query's thread by a StackOverflowError.
"""

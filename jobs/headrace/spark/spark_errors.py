"""Spark's errors about a SQL text: the message in one line, and its offset in the text."""

from __future__ import annotations

import re

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

SPARK_ERRORS = (PySparkException, Py4JJavaError)
"""What Spark raises; the second is an error that Spark itself did not anticipate."""

_PLACE = re.compile(r"\(line (\d+), pos(?:ition)? (\d+)\)")
_CLASS = re.compile(r"^(?:[a-z]\w*\.)+\w+(?:Exception|Error):\s*")
_MOST_CHARACTERS = 500


def full_text(error: BaseException) -> str:
    """The whole message of an error, with the plan and the stack trace."""
    return str(error.java_exception) if isinstance(error, Py4JJavaError) else str(error)


def with_causes(error: BaseException) -> str:
    """The whole message of an error, with the causes that Java reports while it answers."""
    try:
        return str(error)
    except Py4JError:
        return full_text(error)


def one_line(error: BaseException) -> str:
    """Spark's message in one line, never empty, without the plan and the stack trace."""
    text = full_text(error)
    # Messages of the parser begin with an empty line.
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    first = _CLASS.sub("", lines[0]).split(" SQLSTATE:")[0].strip() if lines else ""
    return first[:_MOST_CHARACTERS] or f"Spark fails with {type(error).__name__} and says no more"


def offset(error: BaseException, text: str) -> int:
    """The position of the error in the text that Spark parsed; 0 where Spark does not say."""
    contexts = error.getQueryContext() if isinstance(error, PySparkException) else []
    if contexts and contexts[0].startIndex() >= 0:
        return int(contexts[0].startIndex())
    place = _PLACE.search(str(error))
    if place is None:
        return 0
    lines = re.split("(?<=\n)", text)
    return min(sum(map(len, lines[: int(place[1]) - 1])) + int(place[2]), len(text))

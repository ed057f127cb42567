"""What Spark's own parser sees in a text, without analysing it: the functions it calls, and scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from headrace.spark.jvm import java_class

_PART = r"(?:`(?:[^`]|``)+`|\w+)"
_CALL = re.compile(rf"'({_PART}(?:\.{_PART})*)\(")
_TABLE_FUNCTION = re.compile(r"'UnresolvedTableValuedFunction \[(.*?)\]")
_HIDDEN = re.compile(r"(?i)WithUnresolvedIdentifier")
_SCRIPT = re.compile(r"'?ScriptTransformation ")
_ALL = 1 << 30
_FIELDS = "spark.sql.debug.maxToStringFields"


def called(session: SparkSession, query: str) -> frozenset[str]:
    """The functions that a query calls, in lower case, with the catalog where one is named.

    A text that is no query raises ParseException. `identifier` and `transform ... using` stand for their clauses. A
    literal that looks like Spark's own notation of a call counts as one: it is better to report too much.
    """
    return _seen(session, "parsePlan", query)


def called_in(session: SparkSession, expression: str) -> frozenset[str]:
    """The same for an expression."""
    return _seen(session, "parseExpression", expression)


def _seen(session: SparkSession, how: str, text: str) -> frozenset[str]:
    java: Any = session._jsparkSession
    parsed = getattr(java.sessionState().sqlParser(), how)(text)
    with _in_full(session):
        plan = parsed.treeString() if how == "parsePlan" else parsed.toString()
    return frozenset(_names(plan))


def _names(plan: str) -> Iterator[str]:
    yield from (name.replace("`", "").lower() for name in _CALL.findall(plan))
    yield from (name.replace(", ", ".").lower() for name in _TABLE_FUNCTION.findall(plan))
    if _HIDDEN.search(plan):
        yield "identifier"
    if _SCRIPT.search(plan):
        yield "transform ... using"


@contextmanager
def _in_full(session: SparkSession) -> Iterator[None]:
    """Plans are written with all their fields, whatever the session of this thread says."""
    jvm: Any = session.sparkContext._jvm
    conf = java_class(jvm, "org.apache.spark.sql.internal.SQLConf").get()
    before = conf.getConfString(_FIELDS, "25")
    conf.setConfString(_FIELDS, str(_ALL))
    try:
        yield
    finally:
        conf.setConfString(_FIELDS, before)

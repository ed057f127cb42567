"""The guard's second reader: Spark's own parser sees no call, in what really runs, that the guard has not judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pyspark.sql import SparkSession

from headrace.errors import Finding, Place
from headrace.project.declarations import event_times
from headrace.project.declarations.event_times import SqlTime
from headrace.project.model import Macro, Project
from headrace.project.sql import lexing
from headrace.project.sql.guard.builtins import ALLOWED
from headrace.project.statement import bind
from headrace.spark import parser
from headrace.spark.spark_errors import SPARK_ERRORS

_OF_SPARK = ("system.builtin.", "builtin.", "system.session.", "session.")
_Text = tuple[Place, str, Callable[[SparkSession, str], frozenset[str]]]


def findings(session: SparkSession, project: Project) -> Iterator[Finding]:
    """Find calls that only Spark sees; what it cannot parse has a finding of its own."""
    for place, text, seen in _texts(project):
        try:
            names = {_bare(name) for name in seen(session, text)}
        except SPARK_ERRORS:
            continue
        judged = {".".join((*routine.qualifier, routine.name)) for routine in lexing.routines(text)}
        for name in sorted(names - ALLOWED - project.functions - set(map(_bare, judged))):
            message = f"Spark reads a call of `{name}` here, which the check of the text does not see; write it plainly"
            yield Finding(place, "not-allowed", message)


def _texts(project: Project) -> Iterator[_Text]:
    for model in project.models:
        yield Place(model.path), bind(model, values=project.vars).sql, parser.called
        for key, text in model.expressions:
            yield model.header_places.get(key, Place(model.path)), text, parser.called_in
    for macro in project.macros:
        yield Place(macro.path), _body(macro), parser.called_in
    for topic in (topic for landing in project.landings for topic in landing.topics):
        for reason, text in topic.reject:
            yield topic.places.get(f"reject.{reason}", topic.place), text, parser.called_in
        if isinstance(found := event_times.of(topic), SqlTime):
            yield topic.places.get("event_time", topic.place), found.text, parser.called_in


def _body(macro: Macro) -> str:
    """The expression of a macro: what follows the word RETURN."""
    pieces = lexing.pieces(macro.text)
    ends = (end for kind, start, end in pieces if kind == "name" and macro.text[start:end].upper() == "RETURN")
    return macro.text[next(ends, 0) :]


def _bare(name: str) -> str:
    return next((name.removeprefix(prefix) for prefix in _OF_SPARK if name.startswith(prefix)), name)

"""Spark's settings that can change what SQL means: whether it fails or gives null, the time zone, the case of names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from headrace.errors import Place
from headrace.planning.verdict import Evidence, Reason, Verdict
from headrace.project import secret_values
from headrace.project.model import Target

_PREFIX = "spark.sql."
_ONLY_SPEED = (
    *("adaptive", "autoBroadcastJoinThreshold", "broadcastTimeout", "cbo", "codegen", "execution", "files"),
    *("inMemoryColumnarStorage", "objectHashAggregate", "optimizer", "shuffle", "sortMergeJoinExec", "statistics"),
    *("subexpressionElimination", "ui", "windowExec"),
)
"""First words of settings that only say how Spark works, or what it shows."""

_ELSEWHERE = ("catalog", "catalogImplementation", "extensions", "hive", "streaming", "thriftServer", "warehouse")
"""Those of services, and of the streaming engine, which records in a checkpoint what its state depends on."""

TYPE_OF_TIMES = "spark.sql.timestampType"

_READ_OTHERWISE = (
    *("spark.sql.ansi.doubleQuotedIdentifiers", "spark.sql.caseSensitive", "spark.sql.groupBy", "spark.sql.legacy."),
    *("spark.sql.lateralColumnAlias", "spark.sql.orderByOrdinal", "spark.sql.parser.", "spark.sql.session.collation"),
    TYPE_OF_TIMES,
)
"""First letters of settings under which Spark takes the same text for another query."""

_OF_PARSING = ("spark.sql.legacy.timeParserPolicy",)
"""Those of these that are only about how values are read."""

_ABORTED = "kafka.options.isolation.level"
"""Whether records of transactions that were aborted land."""

_DEFAULTS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    TYPE_OF_TIMES: "TIMESTAMP_LTZ",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    _ABORTED: "read_committed",
}
"""Values that mean the same as no entry."""


OF_VALUES = (
    *("spark.sql.caseSensitive", "spark.sql.mapKeyDedupPolicy", "spark.sql.session.timeZone"),
    *("spark.sql.storeAssignmentPolicy", "spark.sql.legacy.timeParserPolicy", _ABORTED),
)
"""Those that leave every type as it is; any other may give a column another one."""


@dataclass(frozen=True)
class Setting:
    """One entry of a target's `spark.conf`."""

    key: str
    value: str
    place: Place = field(compare=False)


def of(target: Target) -> tuple[Setting, ...]:
    """The settings of a target that can change the meaning of its SQL; for an unknown one that is assumed."""
    secrets = secret_values.of(target)
    levels = {_ABORTED: target.kafka.options.get("isolation.level", "read_committed")}
    named = {key: (f"spark.conf.{key}", value) for key, value in target.spark_conf.items() if _may_change_meaning(key)}
    named |= {key: (key, value) for key, value in levels.items()}
    return tuple(
        Setting(key, value, target.places.get(at, Place(f"conf/{target.name}.yml")))
        for key, (at, value) in sorted(named.items())
        if value not in secrets and not _is_default(key, value)
    )


def reasons(old: tuple[Setting, ...] | None, new: tuple[Setting, ...] | None, verdict: Verdict) -> Iterator[Reason]:
    """The settings whose values differ, as reasons for a verdict.

    None, of before settings were recorded, differs from nothing: mostly what was set then is what is set now.
    """
    before, after = _by_key(old or ()), _by_key(new or ())
    for key in sorted(before.keys() | after.keys()) if old is not None and new is not None else ():
        was, now = before.get(key), after.get(key)
        if was != now:
            then, today = (each.value if each else "not set" for each in (was, now))
            what = "other records land" if key == _ABORTED else "any SQL may mean something else"
            message = f"{key} is {today} and was {then}: {what}"
            yield Reason(verdict, (now or before[key]).place, message, then, today, evidence=Evidence(key=key))


def reading_otherwise(settings: tuple[Setting, ...] | None) -> Setting | None:
    """A setting under which Spark takes a text for another query than it is by default."""
    found = (each for each in settings or () if each.key.startswith(_READ_OTHERWISE) and each.key not in _OF_PARSING)
    return next(found, None)


def _by_key(settings: tuple[Setting, ...]) -> Mapping[str, Setting]:
    return {each.key: each for each in settings}


def _may_change_meaning(key: str) -> bool:
    return key.startswith(_PREFIX) and key.split(".")[2] not in (*_ONLY_SPEED, *_ELSEWHERE)


def _is_default(key: str, value: str) -> bool:
    return value.lower() == _DEFAULTS.get(key, "").lower()

"""Spark's settings that can change what SQL means: whether it fails or gives null, the time zone, the case of names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from headrace.errors import Place
from headrace.planning.verdict import Reason, Verdict
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

_DEFAULTS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
}
"""Values that mean the same as no entry."""


@dataclass(frozen=True)
class Setting:
    """One entry of a target's `spark.conf`."""

    key: str
    value: str
    place: Place = field(compare=False)


def of(target: Target) -> tuple[Setting, ...]:
    """The settings of a target that can change the meaning of its SQL; for an unknown one that is assumed."""
    secrets = secret_values.of(target)
    return tuple(
        Setting(key, value, target.places.get(f"spark.conf.{key}", Place(f"conf/{target.name}.yml")))
        for key, value in sorted(target.spark_conf.items())
        if _may_change_meaning(key) and value not in secrets and not _is_default(key, value)
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
            message = f"{key} is {today} and was {then}: any SQL may mean something else"
            yield Reason(verdict, (now or before[key]).place, message, then, today)


def _by_key(settings: tuple[Setting, ...]) -> Mapping[str, Setting]:
    return {each.key: each for each in settings}


def _may_change_meaning(key: str) -> bool:
    return key.startswith(_PREFIX) and key.split(".")[2] not in (*_ONLY_SPEED, *_ELSEWHERE)


def _is_default(key: str, value: str) -> bool:
    return value.lower() == _DEFAULTS.get(key, "").lower()

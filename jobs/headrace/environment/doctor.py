"""The checks of `headrace doctor`, each with its fix."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource

from headrace.environment import jars
from headrace.environment.broker import Broker
from headrace.environment.java import VECTOR_MODULE, find_java, modules
from headrace.errors import EnvironmentFault
from headrace.project.kafka_options.certificates import cause, explained, obstacle
from headrace.project.kafka_options.client_properties import translated
from headrace.project.kafka_options.topic_names import PROGRESS_SETTINGS, PROGRESS_TOPIC
from headrace.secrets import hidden
from headrace.store.layout import Layout
from headrace.store.paths import ObjectPath, StorePath, check

GIB = 1024**3
ENOUGH_DISK = 2 * GIB
ENOUGH_MEMORY = 3 * GIB
OLDEST_PYTHON = (3, 10)
ANSWER_SECONDS = 5.0

_QUIET = {"log_level": 0, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100}


@dataclass(frozen=True)
class Facts:
    """What a diagnosis needs to know of the target; `bootstrap` is `embedded` or an address.

    An embedded broker is that of `broker_of`, the data directory of another target, if set.
    """

    data_dir: Path
    bootstrap: str = "embedded"
    options: Mapping[str, str] | None = None
    broker_of: Path | None = None
    jar_sets: tuple[jars.SetName, ...] = jars.ALWAYS
    store: StorePath | None = None
    ahead: tuple[str, ...] = ()
    """The recorded positions that are ahead of what exists, in words."""
    progress_topic: str = PROGRESS_TOPIC


@dataclass(frozen=True)
class Check:
    """One result: `ok` is None for information only; `fix` is empty where there is nothing to do."""

    name: str
    ok: bool | None
    detail: str
    fix: str = ""


def diagnose(facts: Facts) -> tuple[Check, ...]:
    """Return all checks in their order; none leaves or fetches anything."""
    return tuple(each(facts) for each in CHECKS)


def python(_: Facts) -> Check:
    """Python is new enough."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    ok = sys.version_info >= OLDEST_PYTHON
    return Check("python", ok, f"Python {version}", "" if ok else "Install Python 3.10 or newer.")


def java(_: Facts) -> Check:
    """Java is there, of a version that Spark runs on, with the module Spark asks for."""
    try:
        found = find_java()
        has_vector = VECTOR_MODULE in modules(found)
    except EnvironmentFault as fault:
        return Check("java", False, str(fault), "Install Java 17 or 21, or set JAVA_HOME.")
    detail = f"Java {found.major} at {found.program}"
    if not has_vector:
        fix = "Install a full Java 17 or 21 (not a cut-down one)."
        return Check("java", False, f"{detail} lacks the module {VECTOR_MODULE}, which Spark needs", fix)
    if found.untried:
        return Check("java", None, f"{detail}: Spark runs on it, headrace is not tried on it", "Prefer Java 17 or 21.")
    return Check("java", True, detail)


def jar_files(facts: Facts) -> Check:
    """All jars that the target needs are there with their checksums."""
    damaged = [jar.coordinate for name in facts.jar_sets for jar in jars.damaged(name)]
    if damaged:
        detail = f"{len(damaged)} jars are missing or broken: {', '.join(damaged[:3])}{', ...' * (len(damaged) > 3)}"
        return Check("jars", False, detail, "Run `headrace setup`.")
    return Check("jars", True, f"{sum(len(jars.locked(name)) for name in facts.jar_sets)} jars, checksums right")


def ports(facts: Facts) -> Check:
    """The embedded broker's ports are its own or free."""
    if facts.bootstrap != "embedded":
        return Check("ports", True, "no embedded broker in this target")
    embedded = Broker(Layout(facts.broker_of or facts.data_dir).broker)
    state = embedded.status()
    if state.bootstrap is None:
        return Check("ports", True, "chosen at the first start of the broker")
    if state.state == "running" or embedded.ports_free():
        return Check("ports", True, f"{state.bootstrap} is {'in use by our broker' if state.pid else 'free'}")
    fix = "Nothing to do, unless something relies on the address: the next start takes another."
    return Check("ports", None, f"another program uses {state.bootstrap}", fix)


def broker(facts: Facts) -> Check:
    """The broker answers."""
    bootstrap = _bootstrap(facts)
    fault = _fault(bootstrap, translated(facts.options or {}))
    options = {**translated(facts.options or {}), "bootstrap.servers": bootstrap or ""}
    if fault is not None and (reason := obstacle(fault, options)):
        message = f"`kafka.options` cannot be used: {hidden(reason)}"
        return Check("broker", False, message, "Correct `kafka.options` in conf/.")
    if bootstrap and fault is None:
        return Check("broker", True, f"{bootstrap} answers")
    if facts.bootstrap == "embedded":
        return Check("broker", None, "the embedded broker is not running", "`headrace run` starts it when needed.")
    fix = "Start it, or correct `kafka:` in conf/ or HEADRACE_KAFKA_BOOTSTRAP."
    message = "" if fault is None else hidden(explained(fault, options))
    return Check("broker", False, f"{bootstrap} does not answer: {message}", fix)


def progress(facts: Facts) -> Check:
    """The topic of progress keeps what it must, and stays small."""
    topic, bootstrap, options = facts.progress_topic, _bootstrap(facts), translated(facts.options or {})
    if not bootstrap or _fault(bootstrap, options) is not None:
        return Check("progress", True, "no broker to ask")
    wrong = _differing(AdminClient({**options, **_QUIET, "bootstrap.servers": bootstrap}), topic)
    if wrong is None:
        return Check("progress", True, f"{topic} is not there yet, or may not be described")
    if not wrong:
        return Check("progress", True, f"{topic} is compacted and small")
    found = ", ".join(f"{name}={value}" for name, value in wrong.items())
    wanted = ",".join(f"{name}={PROGRESS_SETTINGS[name]}" for name in wrong)
    alter = f"kafka-configs.sh --alter --entity-type topics --entity-name {topic} --add-config {wanted}"
    if "cleanup.policy" in wrong:
        return Check("progress", False, f"{topic} has {found}, and may forget what was sent", f"Run `{alter}`.")
    return Check("progress", None, f"{topic} has {found}, and grows long before it is compacted", f"Run `{alter}`.")


def _differing(admin: AdminClient, topic: str) -> Mapping[str, str] | None:
    """The settings of the topic of progress that are not as they should be; None where they are not to be had."""
    asked = ConfigResource(ConfigResource.Type.TOPIC, topic)
    try:
        found = admin.describe_configs([asked], request_timeout=ANSWER_SECONDS)[asked].result(2 * ANSWER_SECONDS)
    except KafkaException:
        return None
    values = {name: str(found[name].value) for name in PROGRESS_SETTINGS if name in found}
    return {name: value for name, value in values.items() if not _is_as_good(value, PROGRESS_SETTINGS[name])}


def _is_as_good(value: str, wanted: str) -> bool:
    """Whether a setting is as wanted; a smaller number does as well."""
    try:
        return float(value) <= float(wanted)
    except ValueError:
        return value == wanted


def _bootstrap(facts: Facts) -> str | None:
    """The address of the target's broker; None for an embedded one that is not running."""
    own = Broker(Layout(facts.broker_of or facts.data_dir).broker)
    return own.status().bootstrap if facts.bootstrap == "embedded" else facts.bootstrap


def _fault(bootstrap: str | None, options: Mapping[str, str]) -> KafkaError | None:
    """What prevents our clients from reaching the broker; without an address, only creating a client is tried."""
    errors: list[KafkaError] = []
    ours: dict[str, Any] = {**_QUIET, "bootstrap.servers": bootstrap or "", "error_cb": errors.append}
    try:
        client = AdminClient({**options, **ours})
        if not bootstrap:
            return None
    except KafkaException as error:
        return _error(error)
    try:
        client.list_topics(timeout=ANSWER_SECONDS)
    except KafkaException as error:
        client.poll(0)  # calls error_cb with the cause
        return cause(errors, _error(error))
    return None


def _error(raised: KafkaException) -> KafkaError:
    error: KafkaError = raised.args[0]
    return error


def disk(facts: Facts) -> Check:
    """There is room for tables and topics."""
    wanted = facts.data_dir.absolute()
    there = next(folder for folder in (wanted, *wanted.parents) if folder.exists())
    if not os.access(there, os.W_OK):
        return Check("disk", False, f"{there} cannot be written", "Set HEADRACE_DATA_DIR to a folder you can write.")
    free = shutil.disk_usage(there).free
    ok = free >= ENOUGH_DISK
    return Check("disk", ok, f"{free / GIB:.1f} GiB free at {there}", "" if ok else "Free at least 2 GiB.")


def store(facts: Facts) -> Check:
    """The object store can be listed, written and cleared."""
    if not isinstance(facts.store, ObjectPath):
        return Check("store", True, "no object store in this target")
    try:
        check(facts.store)
    except EnvironmentFault as fault:
        return Check("store", False, str(fault), "Correct `store:` in conf/, or HEADRACE_STORE.")
    return Check("store", True, f"{facts.store} can be read and written")


def positions(facts: Facts) -> Check:
    """What is recorded as read or written exists."""
    if not facts.ahead:
        return Check("positions", True, "no query is ahead of its tables")
    found = "; ".join(facts.ahead)
    return Check("positions", False, found, "See `headrace restore` and `headrace reset`.")


def memory(_: Facts) -> Check:
    """There is memory for Spark and the broker."""
    available = psutil.virtual_memory().available
    ok = True if available >= ENOUGH_MEMORY else None
    return Check("memory", ok, f"{available / GIB:.1f} GiB available", "" if ok else "Close something: 3 GiB are good.")


def time_zone(_: Facts) -> Check:
    """Times are UTC in everything headrace does, whatever the machine's zone is."""
    return Check("time zone", True, f"this machine: {time.tzname[0]}; headrace works in UTC throughout")


CHECKS: tuple[Callable[[Facts], Check], ...] = (
    python,
    java,
    jar_files,
    ports,
    broker,
    progress,
    store,
    positions,
    disk,
    memory,
    time_zone,
)

"""Which failures are transient, and how long to wait before trying again."""

from __future__ import annotations

import os
import re
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException
from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark.errors import AnalysisException, ParseException, PySparkException

from headrace.errors import EnvironmentFault, HeadraceError, Overtaken, Unreadable
from headrace.secrets import hidden
from headrace.spark.spark_errors import SPARK_ERRORS, with_causes
from headrace.store import damage

WAITS = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds before the first, second, ... try; the last one repeats."""

SAME_FAILURES = 5
"""A failure of unknown kind that repeats itself this often is not transient."""

_TRANSIENT = (
    "org.apache.kafka.common.errors.",
    "java.net.",
    "java.nio.file.FileSystemException",
    "java.io.IOException",
    "java.util.concurrent.TimeoutException",
    "No space left on device",
    "Timed out waiting for a node assignment",
    "headrace.errors.Overtaken",  # from inside a batch of the streaming engine
)

_PERMANENT = (
    "OffsetOutOfRangeException",
    "KAFKA_DATA_LOSS",
    "AuthorizationException",
    "SaslAuthenticationException",
    "STATE_STORE_",
    "STREAMING_STATEFUL_OPERATOR",
    "UNSUPPORTED_",
    "USER_RAISED_EXCEPTION",
    "DELTA_",
    # Classes of the SQL standard: values that a text cannot take, texts that mean nothing, features that are missing.
    "SQLSTATE: 22",
    "SQLSTATE: 42",
    "SQLSTATE: 0A",
    "headrace.errors.HeadraceError",  # from inside a batch of the streaming engine
)

_OWN = re.compile(r"^headrace\.(?:\w+\.)+[A-Z]\w+: (.+)$", re.MULTILINE)
"""How a traceback of Python ends that Java quotes."""

_VARYING = re.compile(
    r"#\d+|@[0-9a-f]+\b|\b(stage|TID) \d[\d.]*"
    r"|(?:[\w-]*[0-9a-f]{32}/)?part-[\w.-]*\.parquet|compacted-[0-9a-f]{32}\.parquet"
)
"""Numbers of columns, objects, stages and tasks, and which of several data files is named."""

_DISK = re.compile(
    r"^[ \t:]*(?:Caused by:\s*)?(?:[\w.$]+(?:Error|Exception):\s+)*"
    r"(?P<cause>.*(?:No space left on device|Read-only file system).*)$",
    re.MULTILINE,
)
"""What a disk says. Parquet and RocksDB report what they could not close, and this among its causes."""

_NO_FOLDER = re.compile(r"Mkdirs failed to create (?:file:)?(?P<folder>/\S+)")
"""Hadoop does not say why it cannot make a folder of this machine."""

_PERMANENT_KAFKA = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError._AUTHENTICATION,
    KafkaError._INVALID_ARG,
)


class ModelFailed(HeadraceError):
    """A model's query failed; names the model and its file."""

    def __init__(self, model: str, path: str, cause: BaseException) -> None:
        self.cause = cause
        text = message_of(cause)
        super().__init__(text if text.startswith(f"{path}:") else f"{path}: {model}: {text}")


def is_transient(error: BaseException) -> bool | None:
    """Whether the cause is transient; None if that is unknown."""
    if isinstance(error, ModelFailed):
        return is_transient(error.cause)
    if isinstance(error, Unreadable):
        return None  # somebody may put it back, but it does not mend itself
    if isinstance(error, (EnvironmentFault, Overtaken)):
        return True
    if isinstance(error, (HeadraceError, AnalysisException, ParseException, Py4JNetworkError)):
        return False
    if isinstance(error, KafkaException):
        return error.args[0].code() not in _PERMANENT_KAFKA
    text = with_causes(error)
    if damage.found(text):
        return None
    if any(sign in text for sign in _PERMANENT):
        return False
    return True if isinstance(error, (OSError, FutureTimeout)) or any(sign in text for sign in _TRANSIENT) else None


def message_of(error: BaseException) -> str:
    """The message of a failure in one line, without secrets that Java or a broker may quote."""
    return hidden(_message(error))


def is_same(cause: str, previous: str) -> bool:
    """Whether two messages are of one cause: they differ in nothing but what differs from try to try."""
    return _VARYING.sub("", cause) == _VARYING.sub("", previous)


def _message(error: BaseException) -> str:
    text = with_causes(error)
    if torn := damage.found(text):
        return str(torn)
    if isinstance(error, SPARK_ERRORS) and not _OWN.search(text) and (disk := _DISK.search(text)):
        return disk["cause"].strip()[:500]
    if no_folder := _NO_FOLDER.search(text):
        above = Path(no_folder["folder"]).parent
        reason = "" if os.access(above, os.W_OK) else f": {above} cannot be written; is the disk read-only?"
        return f"{no_folder['folder']} cannot be made{reason}"
    if isinstance(error, KafkaException):
        return str(error.args[0].str())
    if isinstance(error, Py4JJavaError):
        return _java_cause(str(error.java_exception))
    if isinstance(error, PySparkException):
        return _java_cause(str(error))
    return str(error).split("\n")[0] or type(error).__name__


def _java_cause(text: str) -> str:
    """The first line, or that of the innermost cause where the first only says that a job was aborted.

    What headrace itself has raised within a batch of the streaming engine comes in its own words.
    """
    if own := _OWN.findall(text):
        return str(own[-1])
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    first = lines[0] if lines else text
    if "Job aborted" in first or "STREAM_FAILED" in first:
        causes = [line for line in lines if line.startswith("Caused by:") or "Exception: " in line]
        first = causes[-1] if causes else first
    return first.removeprefix("Caused by:").split(" SQLSTATE:")[0].strip()[:500]

"""What is made of failures that no command foresees: one line for the user's world, nothing for an error of ours."""

from __future__ import annotations

import errno
import os
import re
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException
from deltalake.exceptions import DeltaProtocolError

from headrace.faults import describe
from headrace.write_errors import naming

RUST = (
    "Kernel error -> Generic LocalFileSystem error\n"
    "          \x1b[31m↳\x1b[0m Unable to open file /data/tables/x\n"
    "           \x1b[31m↳\x1b[0m Permission denied (os error 13)\n"
)
JAVA = """An error occurred while calling o12.save.
: java.lang.RuntimeException: aborted
\tat org.apache.spark.Frame(Frame.scala:1)
\t... 12 more
Caused by: java.io.IOException: No space left on device
\tat java.base/sun.nio.Frame(Native Method)
"""


def foreign(module: str, name: str, message: str) -> Exception:
    """An error of a library that may not be loaded."""
    return type(name, (Exception,), {"__module__": module})(message)


def of_system(number: int, path: str | None = None) -> OSError:
    return OSError(number, os.strerror(number), path)


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (of_system(errno.ENOSPC, "/d/x"), "/d/x: No space left on device; free some space"),
        (of_system(errno.EDQUOT, "/d/x"), "/d/x: .*quota.*; free some space"),
        (of_system(errno.ENOSPC), "No space left on device; free some space"),
        (of_system(errno.EACCES, "/d/x"), "/d/x: Permission denied; give this user the right"),
        (of_system(errno.EPERM, "/d/x"), "/d/x: Operation not permitted; give this user the right"),
        (of_system(errno.EROFS, "/d/x"), "/d/x: Read-only file system; choose another folder"),
        (of_system(errno.ENOENT, "/proc/x"), "/proc/x: No such file or directory; see whether the path is right"),
        (of_system(errno.ENOTDIR, "/d/x"), "/d/x: Not a directory; see whether the path is right"),
        (of_system(errno.EIO, "/d/x"), "/d/x: Input/output error; look at the disk"),
        (of_system(errno.ENAMETOOLONG, "/d/x"), "/d/x: File name too long; choose another folder"),
        (of_system(errno.EMFILE, "/d/x"), "/d/x: Too many open files; raise the limit of open files"),
        (of_system(errno.ENFILE), "Too many open files.*; raise the limit of open files"),
        (of_system(errno.ECONNREFUSED), "Connection refused; see whether the other side still runs"),
        (TimeoutError(), "what was asked for did not come in time; "),
        (FutureTimeout(), "what was asked for did not come in time; "),
        (foreign("py4j.protocol", "Py4JNetworkError", "gone"), "Spark's JVM has ended; "),
        (OSError(RUST), r"Unable to open file /data/tables/x Permission denied \(os error 13\); give this user"),
        (foreign("py4j.protocol", "Py4JJavaError", JAVA), ".*java.io.IOException: No space left on device; free some"),
    ],
    ids=str,
)
def test_failure_of_users_world_is_one_line(error: Exception, wanted: str) -> None:
    assert re.fullmatch(f"{wanted}.*", str(describe(error)))  # a dot takes no end of a line


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "Transactional Id authorization failed"),
        (KafkaError._ALL_BROKERS_DOWN, "All broker connections are down"),
    ],
)
def test_what_kafka_says_is_reported(code: int, said: str) -> None:
    assert said in str(describe(KafkaException(KafkaError(code))))


@pytest.mark.parametrize(
    "error",
    [
        ValueError("Permission denied"),
        KeyError("x"),
        of_system(errno.EBADF),
        OSError("ours"),
        foreign("py4j.protocol", "Py4JJavaError", "java.lang.NullPointerException"),
        foreign("ours", "Failure", JAVA),
    ],
    ids=str,
)
def test_error_of_ours_is_not_reported(error: Exception) -> None:
    assert describe(error) is None


def test_nameless_failure_gets_name() -> None:
    with pytest.raises(OSError) as caught, naming(Path("/d/x")):
        raise of_system(errno.ENOSPC)
    assert caught.value.filename == "/d/x"


@pytest.mark.parametrize("error", [of_system(errno.ENOSPC, "/d/y"), of_system(errno.ECONNREFUSED)], ids=str)
def test_other_failure_keeps_its_name(error: OSError) -> None:
    before = error.filename
    with pytest.raises(OSError) as caught, naming(Path("/d/x")):
        raise error
    assert caught.value.filename == before


def test_denied_store_is_one_line() -> None:
    rust = OSError(
        "Kernel error -> The operation lacked the necessary privileges to complete for path a/_last_checkpoint\n"
        "  \x1b[31m↳\x1b[0m Error performing GET http://h/lake in 4ms - Server returned non-2xx status code\n"
        "  \x1b[31m↳\x1b[0m 403 Forbidden\n"
        "  \x1b[31m↳\x1b[0m <Error><Code>AccessDenied</Code><Message>no</Message></Error>\n"
    )
    said = describe(rust) or ""
    assert (said.startswith("the store in conf/ denies access: AccessDenied (no); "), "\n" in said) == (True, False)


def test_log_that_deltalake_cannot_read_is_one_line() -> None:
    said = str(describe(DeltaProtocolError("Invalid JSON in file stats:\n  expected value")))
    assert said.startswith("a Delta table cannot be read: Invalid JSON in file stats: expected value; restore a backup")

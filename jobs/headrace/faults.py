"""Failures outside our code that no command anticipates, each in one line: files, network, Kafka, Spark's JVM."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Mapping

from headrace.spark import error_names
from headrace.store.json_files import RESTORE
from headrace.store.reaching import explained
from headrace.write_errors import NAMELESS

_ELSEWHERE = "choose another folder (for data: `data_dir` in conf/, or HEADRACE_DATA_DIR)"
_ROOM = f"free some space, or {_ELSEWHERE}"
_RIGHTS = f"give this user the right to it, or {_ELSEWHERE}"
_PLACE = f"see whether the path is right, or {_ELSEWHERE}"
_DISK = f"look at the disk, or {_ELSEWHERE}"
_FILES = "raise the limit of open files: `ulimit -n 65536`"
_PEER = "see whether the other side still runs, and look at the network"

_REMEDIES: Mapping[int, str] = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: "raise the limit of a file's size (`ulimit -f`), or " + _ELSEWHERE,
    errno.EROFS: _ELSEWHERE,
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.ENOENT: _PLACE,
    errno.ENOTDIR: _PLACE,
    errno.EISDIR: _PLACE,
    errno.EEXIST: _PLACE,
    errno.ENOTEMPTY: _PLACE,
    errno.ELOOP: _PLACE,
    errno.ENAMETOOLONG: _ELSEWHERE,
    errno.EIO: _DISK,
    errno.ENODEV: _DISK,
    errno.ENXIO: _DISK,
    errno.ESTALE: _DISK,
    errno.EXDEV: _ELSEWHERE,
    errno.ENOTSUP: _ELSEWHERE,
    errno.ENOLCK: _ELSEWHERE,
    errno.ETXTBSY: "end whatever uses it",
    errno.EBUSY: "end whatever uses it",
    errno.EMFILE: _FILES,
    errno.ENFILE: _FILES,
    errno.ENOMEM: "end something else that takes memory",
    errno.EAGAIN: "raise the limit of processes (`ulimit -u`), or end some",
    errno.ECONNREFUSED: _PEER,
    errno.ECONNRESET: _PEER,
    errno.ECONNABORTED: _PEER,
    errno.EHOSTUNREACH: _PEER,
    errno.ENETUNREACH: _PEER,
    errno.ENETDOWN: _PEER,
    errno.ETIMEDOUT: _PEER,
    errno.EADDRINUSE: "choose another port, or end whatever listens there",
    errno.EADDRNOTAVAIL: "choose an address of this machine",
}
"""What to do about each system error whose cause lies in the user's environment, not in our code."""

_QUOTED = (*NAMELESS, errno.EACCES, errno.EMFILE, errno.ENFILE)
_QUOTING = (*error_names.LIBRARIES, "deltalake", "_internal")
"""Libraries backed by Java and Rust, which embed the system's error text in their own."""

_OF_STORES = ("Generic S3 error", "Generic MicrosoftAzure error", "Generic GCS error", "Server returned non-2xx")
_ORNAMENT = re.compile(r"\x1b\[\d+m|↳")
_FRAMES = ("at ", "... ")
"""How lines of a Java stack trace begin."""

_MOST_CHARACTERS = 500


def describe(error: Exception) -> str | None:
    """Return what is wrong and what to do, in one line; None for an error of ours, which keeps its traceback."""
    return (
        _of_kafka(error)
        or _of_store(error)
        or _of_system(error)
        or _of_timeout(error)
        or _of_jvm(error)
        or _quoted(error)
        or _of_delta(error)
    )


def _of_kafka(error: Exception) -> str | None:
    kafka = sys.modules.get("confluent_kafka")  # if it is not loaded, it cannot have raised this
    if kafka is None or not isinstance(error, kafka.KafkaException):
        return None
    return f"Kafka says: {error.args[0].str()}; look at the broker and its ACLs, and at `kafka:` in conf/"


def _of_store(error: Exception) -> str | None:
    """What a library reports that reaches an object store by itself."""
    text = str(error)
    if not isinstance(error, OSError) or error.errno is not None or not any(sign in text for sign in _OF_STORES):
        return None
    return explained("in conf/", text)


def _of_system(error: Exception) -> str | None:
    if not isinstance(error, OSError) or error.errno is None or error.errno not in _REMEDIES:
        return None
    where = "" if error.filename is None else f"{error.filename}: "
    return f"{where}{error.strerror or os.strerror(error.errno)}; {_REMEDIES[error.errno]}"


def _of_delta(error: Exception) -> str | None:
    """What deltalake finds wrong in the log of a table after it has opened it."""
    deltalake = sys.modules.get("deltalake.exceptions")
    if deltalake is None or not isinstance(error, deltalake.DeltaError):
        return None
    return f"a Delta table cannot be read: {' '.join(str(error).split())[:_MOST_CHARACTERS]}; {RESTORE}"


def _of_timeout(error: Exception) -> str | None:
    """A TimeoutError, of which Python 3.10 has several."""
    if type(error).__name__ != "TimeoutError":
        return None
    return f"{str(error) or 'what was asked for did not come in time'}; {_PEER}"


def _of_jvm(error: Exception) -> str | None:
    if type(error).__name__ != error_names.JVM_ENDED:
        return None
    return "Spark's JVM has ended; logs/spark.log in the data directory says why, unless the system has killed it"


def _quoted(error: Exception) -> str | None:
    """What Java or Rust reports about a file; the line before the system's error text may be the one that names it."""
    # deltalake raises bare ones as well
    if type(error).__module__.split(".")[0] not in _QUOTING and type(error) not in (OSError, Exception):
        return None
    lines = [line for line in map(_plain, str(error).splitlines()) if line and not line.startswith(_FRAMES)]
    for at, line in enumerate(lines):
        for number in _QUOTED:
            if os.strerror(number) in line:
                return f"{' '.join(lines[max(at - 1, 0) : at + 1])[:_MOST_CHARACTERS]}; {_REMEDIES[number]}"
    return None


def _plain(line: str) -> str:
    return _ORNAMENT.sub("", line).strip()

"""The JVM of spark-submit, which is the parent of this Python: how it is asked to end, and that it has ended.

A supervisor, `kill` and the agent of a pod know the process of spark-submit, which is that JVM. By default it shuts
Spark down while Python still uses it. Here it passes SIGTERM on, leaves the Ctrl-C that a terminal sends to both to
Python, and ends with Python's exit code. If it is killed, this Python is left without a JVM.

Invariant: no other JVM's signals are touched, such as those of a notebook's driver.
"""

from __future__ import annotations

import os
import signal
from functools import lru_cache
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.java_gateway import ensure_callback_server_started

from headrace.spark.jvm import java_class

GATEWAY = "PYSPARK_GATEWAY_PORT"
"""Set for a Python that is to find the JVM which has started it."""

_SUBMIT = "org.apache.spark.deploy.SparkSubmit"


class _TerminationHandler:
    """What Java calls when SIGTERM has come."""

    def handle(self, _: Any) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    class Java:
        implements = ("sun.misc.SignalHandler",)


def pass_signals_on() -> None:
    """Let Python decide how a driver ends that spark-submit has started; for any other one, do nothing."""
    if GATEWAY not in os.environ:
        return
    SparkContext._ensure_initialized()
    jvm: Any = SparkContext._jvm
    listen: Any = ensure_callback_server_started
    if pid_of(jvm) is not None:
        listen(SparkContext._gateway)
        kind = java_class(jvm, "sun.misc.Signal")
        kind.handle(kind("TERM"), _TerminationHandler())
        kind.handle(kind("INT"), java_class(jvm, "sun.misc.SignalHandler").SIG_IGN)


def is_gone(jvm: Any) -> bool:
    """Whether the JVM that started this Python has ended; to be asked first while it is there."""
    pid = pid_of(jvm)
    return pid is not None and os.getppid() != pid


@lru_cache(maxsize=1)
def pid_of(jvm: Any) -> int | None:
    """The process of a JVM that is spark-submit's and has started this Python; None for any other JVM."""
    try:
        pid = int(java_class(jvm, "java.lang.ProcessHandle").current().pid())
        command = str(java_class(jvm, "java.lang.System").getProperty("sun.java.command"))
    except Py4JError:  # a platform's own driver does not answer everything
        return None
    return pid if pid == os.getppid() and command.startswith(_SUBMIT) else None

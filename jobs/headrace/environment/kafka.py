"""Formatting and starting Kafka's server as a single small node."""

from __future__ import annotations

import base64
import os
import random
import shutil
import socket
import subprocess
import uuid
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from headrace.environment import classes, jars
from headrace.environment.java import find_java
from headrace.errors import EnvironmentFault
from headrace.write_errors import naming

HOST = "127.0.0.1"
PORTS = range(20000, 32000)
"""Below the ports that systems give to outgoing connections, so that none of those can take ours."""

LOG = "kafka.log"
PROPERTIES = "server.properties"
PORT_TAKEN = "Address already in use"

SETTINGS = f"""\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://{HOST}:{{broker}},CONTROLLER://{HOST}:{{controller}}
advertised.listeners=PLAINTEXT://{HOST}:{{broker}}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
controller.quorum.voters=1@{HOST}:{{controller}}
log.dirs={{logs}}
auto.create.topics.enable=false
# a killed broker's place is free again after this; at the default of 9 s a restart takes 12 s
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=300
# nothing is lost, however old or far ahead its timestamp
log.retention.ms=-1
log.retention.bytes=-1
log.message.timestamp.after.max.ms=9223372036854775807
offsets.retention.minutes=2147483647
# one node
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
# a small machine
num.network.threads=2
num.io.threads=2
offsets.topic.num.partitions=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.num.partitions=1
log.cleaner.dedupe.buffer.size=4194304
group.initial.rebalance.delay.ms=0
# a killed producer holds its readers up for a second at most after its time-out
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
"""

JVM_FLAGS = (
    "-Xms64m",
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-UsePerfData",
    "-Djava.awt.headless=true",
    "-Duser.timezone=UTC",
    "-Duser.language=en",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
)

_REDIRECTED = f'cd "$0" && exec "$@" </dev/null >{LOG} 2>&1'


@dataclass(frozen=True)
class Ports:
    """Where the broker listens: for clients, and for itself as its own controller."""

    broker: int
    controller: int

    @property
    def bootstrap(self) -> str:
        return f"{HOST}:{self.broker}"


def choose_ports() -> Ports:
    """Return two ports that are free just now."""
    free = [*islice((port for port in random.sample(PORTS, len(PORTS)) if is_free(port)), 2)]
    if len(free) < 2:
        raise EnvironmentFault(f"No ports of {HOST} from {PORTS.start} to {PORTS.stop} are free; end what uses them.")
    return Ports(*free)


def is_free(port: int) -> bool:
    """True if nothing listens on this port of the loopback address."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def properties(ports: Ports, logs: str) -> str:
    """Return the server's configuration; `logs` is relative to the directory it is started in."""
    return SETTINGS.format(broker=ports.broker, controller=ports.controller, logs=logs)


def prepare(data: Path, ports: Ports) -> None:
    """Write the configuration and, the first time, format the log directory; it appears complete or not at all."""
    with naming(data / PROPERTIES):
        (data / PROPERTIES).write_text(properties(ports, "logs"), "utf-8")
    if not (data / "logs").exists():
        _format(data, ports)


def spawn(data: Path) -> int:
    """Start the server in a session of its own and return its process id; its output goes to its log."""
    # posix_spawn, as a Popen would want to be waited for and the broker may outlive us
    command = ["/bin/sh", "-c", _REDIRECTED, str(data), *server_command(data)]
    return os.posix_spawn(command[0], command, child_environment(), setsid=True)


def server_command(data: Path) -> tuple[str, ...]:
    """Return the command line of the server; its last arguments identify it among all processes."""
    return (*_java(), *JVM_FLAGS, *classes.BROKER.options(), "-cp", _class_path(), *identity(data))


def identity(data: Path) -> tuple[str, ...]:
    """Return the last arguments of the command line of this data directory's server."""
    return ("kafka.Kafka", str(data / PROPERTIES))


def child_environment() -> dict[str, str]:
    """Return what a child JVM sees of our environment: nothing that could change or leak."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def log_tail(data: Path, lines: int = 30) -> str:
    """Return the end of the server's log, without the frames of its stack traces."""
    return _end_of(_log(data), lines)


def lost_a_port(data: Path) -> bool:
    """True if the server ended because one of its ports was taken."""
    return PORT_TAKEN in _log(data)


def _end_of(text: str, lines: int) -> str:
    return "\n".join([line for line in text.splitlines() if not line.startswith("\t")][-lines:])


def _log(data: Path) -> str:
    try:
        return (data / LOG).read_text("utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def _format(data: Path, ports: Ports) -> None:
    fresh = data / "logs.new"
    shutil.rmtree(fresh, ignore_errors=True)
    settings = data / "format.properties"
    with naming(settings):
        settings.write_text(properties(ports, fresh.name), "utf-8")
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    command = [*_java(), "-XX:TieredStopAtLevel=1", "-Xmx128m", *classes.BROKER.options(), "-cp", _class_path()]
    command += ["kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", settings.name]
    done = subprocess.run(command, cwd=data, env=child_environment(), capture_output=True, text=True)
    if done.returncode:
        output = _end_of(done.stdout + done.stderr, 30)
        raise EnvironmentFault(f"Kafka cannot format {data}. Is the disk full or read-only? It says:\n{output}")
    fresh.rename(data / "logs")


def _java() -> tuple[str, ...]:
    return (str(find_java().program.absolute()),)


def _class_path() -> str:
    return os.pathsep.join(str(path) for path in jars.resolve("broker"))

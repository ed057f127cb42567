"""Jars downloaded by the Ivy that ships inside pyspark, from Maven Central or the user's own mirror."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies
from xml.etree import ElementTree

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from headrace.environment.java import find_java
from headrace.errors import EnvironmentFault

MIRROR_VARIABLE = "HEADRACE_MAVEN_URL"
STALLED_AFTER = 60.0
"""Seconds without a byte after which a download is aborted."""

CONNECT_TIMEOUT_MS, READ_TIMEOUT_MS = "10000", "30000"

TROUBLES = (r"Server access error.*", r"Host \S+ not found", r".*Exception.*", r"module not found.*", r".*\S.*")
"""How Ivy reports that something went wrong, the most informative form first."""


def download(coordinates: Iterable[str], size: int, into: Path, title: str) -> str | None:
    """Fetch `group:artifact:version` jars into the folder `into`; return the first trouble met, if any.

    Jars that did arrive are left there under their Maven file names. `size` is what is expected in bytes.
    """
    settings, wanted = into / "settings.xml", into / "ivy.xml"
    settings.write_bytes(settings_xml(into, repository()))
    wanted.write_bytes(wanted_xml(coordinates))
    command = [str(find_java().program), "-Xmx256m", "-XX:TieredStopAtLevel=1", *proxy_flags(getproxies())]
    command += ["-jar", str(ivy_jar()), "-settings", str(settings), "-ivy", str(wanted), "-confs", "default", "-warn"]
    with ExitStack() as stack:
        output = stack.enter_context((into / "ivy.log").open("w+", encoding="utf-8", errors="replace"))
        progress = stack.enter_context(_progress())
        process = stack.enter_context(
            subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        )
        stalled = _follow(process, progress, progress.add_task(title, total=size), into)
        output.seek(0)
        return "nothing arrives any more" if stalled else _trouble(output.read())


def repository(environ: Mapping[str, str] = os.environ, settings: Path | None = None) -> str | None:
    """Return the URL of the user's mirror of Maven Central; None where there is no mirror."""
    named = environ.get(MIRROR_VARIABLE)
    return named if named else central_mirror(settings or Path.home() / ".m2" / "settings.xml")


def central_mirror(settings: Path) -> str | None:
    """Return the URL of the first `<mirror>` of central in a Maven settings file."""
    try:
        mirrors = ElementTree.parse(settings).findall("{*}mirrors/{*}mirror")
    except FileNotFoundError:
        return None
    except (OSError, ElementTree.ParseError) as error:
        raise EnvironmentFault(f"{settings} cannot be read: {error}. Mend it or set {MIRROR_VARIABLE}.") from error
    for mirror in mirrors:
        patterns = {part.strip() for part in mirror.findtext("{*}mirrorOf", "").split(",")}
        if "!central" not in patterns and patterns & {"central", "*", "external:*"}:
            return mirror.findtext("{*}url", "").strip() or None
    return None


def proxy_flags(proxies: Mapping[str, str]) -> tuple[str, ...]:
    """Return the JVM's options for the proxies of the environment (`https_proxy`, `no_proxy`)."""
    flags = []
    for scheme in ("http", "https"):
        url = urlsplit(proxies.get(scheme, ""))
        if url.hostname:
            flags += [f"-D{scheme}.proxyHost={url.hostname}", f"-D{scheme}.proxyPort={url.port or 80}"]
    if flags and proxies.get("no"):
        hosts = (host.strip() for host in proxies["no"].split(","))
        flags.append("-Dhttp.nonProxyHosts=" + "|".join(f"*{host}" if host.startswith(".") else host for host in hosts))
    return tuple(flags)


def settings_xml(cache: Path, root: str | None) -> bytes:
    """Return Ivy settings: one Maven repository, files flat in `cache`, no POMs, no checksum files."""
    top = ElementTree.Element("ivysettings")
    ElementTree.SubElement(top, "settings", defaultResolver="maven")
    ElementTree.SubElement(
        top, "caches", defaultCacheDir=str(cache), artifactPattern="[artifact]-[revision].[ext]", useOrigin="false"
    )
    timeouts = ElementTree.SubElement(top, "timeout-constraints")
    ElementTree.SubElement(
        timeouts,
        "timeout-constraint",
        name="patient",
        connectionTimeout=CONNECT_TIMEOUT_MS,
        readTimeout=READ_TIMEOUT_MS,
    )
    maven = ElementTree.SubElement(ElementTree.SubElement(top, "resolvers"), "ibiblio", name="maven")
    maven.attrib |= {"m2compatible": "true", "usepoms": "false", "checksums": "", "timeoutConstraint": "patient"}
    if root is not None:  # after m2compatible, which sets the root to Maven Central
        maven.set("root", root)
    return ElementTree.tostring(top)


def wanted_xml(coordinates: Iterable[str]) -> bytes:
    """Return an Ivy module that depends on exactly these `group:artifact:version` jars."""
    top = ElementTree.Element("ivy-module", version="2.0")
    ElementTree.SubElement(top, "info", organisation="headrace", module="jars")
    dependencies = ElementTree.SubElement(top, "dependencies")
    for coordinate in coordinates:
        group, artifact, version = coordinate.split(":")
        ElementTree.SubElement(dependencies, "dependency", org=group, name=artifact, rev=version, transitive="false")
    return ElementTree.tostring(top)


def ivy_jar(environ: Mapping[str, str] = os.environ) -> Path:
    """Return Ivy, which is among the jars of Spark.

    Under spark-submit, pyspark is a zip file without jars, and SPARK_HOME says where they are.
    """
    spec, home = find_spec("pyspark"), environ.get("SPARK_HOME")
    folders = [*((spec.submodule_search_locations or ()) if spec else ()), *([home] if home else [])]
    for folder in folders:
        for jar in Path(folder, "jars").glob("ivy-*.jar"):
            return jar
    raise EnvironmentFault("pyspark with its jars is not installed here. Install it: `pip install pyspark==4.2.0`.")


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    return Progress(*columns, console=Console(stderr=True))


def _follow(process: subprocess.Popen[bytes], progress: Progress, task: TaskID, folder: Path) -> bool:
    """Show what arrives until the process ends; True if it had to be stopped because nothing came."""
    arrived, moved = 0, time.monotonic()
    while process.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.2)
        now = bytes_arrived(folder)
        if now != arrived:
            arrived, moved = now, time.monotonic()
            progress.update(task, completed=arrived)
        elif time.monotonic() - moved > STALLED_AFTER:
            process.kill()
            return True
    return False


def bytes_arrived(folder: Path) -> int:
    """The bytes of all jars and parts of jars; a part may get its final name, or go, while they are counted."""
    size = 0
    for file in folder.glob("*.jar*"):
        with suppress(FileNotFoundError):
            size += file.stat().st_size
    return size


def _trouble(output: str) -> str | None:
    """Return Ivy's most informative line, if anything went wrong."""
    found = next((found for pattern in TROUBLES if (found := re.search(pattern, output))), None)
    return found[0].strip() if found else None

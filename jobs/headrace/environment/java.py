"""The Java that runs Spark and the embedded broker."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import EnvironmentFault

SUPPORTED = (17, 21)
UNTRIED = (25,)
VECTOR_MODULE = "jdk.incubator.vector"
"""Spark asks for this module at start; cut-down runtimes lack it."""

FIX = (
    "Install Java 17 or 21 (`apt install openjdk-17-jre-headless`, `brew install openjdk@17`) "
    "or set JAVA_HOME to one that is installed."
)


@dataclass(frozen=True)
class Java:
    """A Java that starts: its program and major version."""

    program: Path
    major: int

    @property
    def untried(self) -> bool:
        """True where Spark supports this Java, but headrace has not been tried on it."""
        return self.major in UNTRIED


def find_java(environ: Mapping[str, str] = os.environ) -> Java:
    """Return the Java of JAVA_HOME, else of PATH; EnvironmentFault if none fits."""
    found = program(environ)
    major = major_version(_run(found, "-version"))
    if major is None:
        raise EnvironmentFault(f"{found} does not tell its version. {FIX}")
    if major not in SUPPORTED + UNTRIED:
        raise EnvironmentFault(f"{found} is Java {major}, which Spark 4.2 does not run on. {FIX}")
    return Java(found, major)


def program(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the program `java` of JAVA_HOME, else of PATH; EnvironmentFault if there is none."""
    home = environ.get("JAVA_HOME")
    if home:
        named = Path(home, "bin", "java")
        if not os.access(named, os.X_OK):
            raise EnvironmentFault(f"JAVA_HOME is {home}, but there is no program {named}. {FIX}")
        return named
    found = shutil.which("java", path=environ.get("PATH"))
    if found is None:
        raise EnvironmentFault(f"No Java on the PATH. {FIX}")
    return Path(found)


def modules(java: Java) -> frozenset[str]:
    """Return the names of the modules this Java has."""
    lines = _run(java.program, "--list-modules").splitlines()
    return frozenset(line.partition("@")[0].strip() for line in lines)


def major_version(banner: str) -> int | None:
    """Return the major version in what `java -version` prints; 8 for the old form `1.8.0`."""
    found = re.search(r'version "(?:1\.)?(\d+)', banner)
    return int(found[1]) if found else None


def _run(program: Path, argument: str) -> str:
    try:
        done = subprocess.run([program, argument], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentFault(f"{program} does not start ({error}). {FIX}") from error
    return done.stderr + done.stdout

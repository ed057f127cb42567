"""The quick compiler: Java takes its options without a word, and does as they say."""

from __future__ import annotations

import subprocess
from typing import Any

import psutil
import pytest
from pyspark.sql import SparkSession

from headrace.engine import compiler
from headrace.environment import java

pytestmark = pytest.mark.spark

TOLD = ("-XX:+DisplayVMOutput", "-XX:+CompilerDirectivesPrint")


def test_java_says_nothing_of_it() -> None:
    done = _java(*compiler.options("quick"))
    assert (done.returncode, done.stdout) == (0, "")
    assert "arning" not in done.stderr


def test_second_compiler_takes_the_named_methods_alone() -> None:
    named, others = _java(*compiler.options("quick"), *TOLD).stdout.split("Directive:")[1:3]
    assert "jdk/internal/misc/Unsafe.copyMemory" in named and "Exclude:false" in _second(named)
    assert "matching: *.*" in others and "Exclude:true" in _second(others)


def test_spark_of_the_tests_has_it(spark: SparkSession) -> None:
    jvm: Any = spark.sparkContext._jvm
    words = psutil.Process(jvm.java.lang.ProcessHandle.current().pid()).cmdline()
    assert {*compiler.options("quick")} <= {*words}


def test_full_has_no_options() -> None:
    assert compiler.options("full") == ()


def _java(*options: str) -> subprocess.CompletedProcess[str]:
    command = [str(java.program()), *options, "-version"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def _second(directive: str) -> str:
    return directive.partition("c2 directives:")[2]

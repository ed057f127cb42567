"""The quick compiler: Java takes its options without a word, and does as they say."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark.sql import SparkSession

from headrace.environment import java
from headrace.spark import compiler

pytestmark = pytest.mark.spark

DIRECTIVES = json.loads(
    re.sub(r"(\w+):", r'"\1":', Path(compiler.__file__).with_name("compiler.json").read_text("utf-8"))
)
TOLD = ("-XX:+DisplayVMOutput", "-XX:+CompilerDirectivesPrint")


def test_java_says_nothing_of_it() -> None:
    done = _java(*compiler.options("quick"))
    assert (done.returncode, done.stdout) == (0, "")
    assert "arning" not in done.stderr


def test_second_compiler_takes_the_named_methods_alone() -> None:
    named, longest, others = _java(*compiler.options("quick"), *TOLD).stdout.split("Directive:")[1:4]
    assert "jdk/internal/misc/Unsafe.copyMemory" in named and "Exclude:false" in _second(named)
    assert "DataSourceV2Strategy.apply" in longest and "Exclude:true" in _second(longest)
    assert "matching: *.*" in others and "Exclude:true" in _second(others)


def test_longest_methods_are_methods_of_this_spark(spark: SparkSession) -> None:
    jvm: Any = spark.sparkContext._jvm
    (methods,) = (each["match"] for each in DIRECTIVES if "c1" in each and each["c1"].get("Exclude"))
    for method in methods:
        name, _, told = method.replace("/", ".").rpartition(".")
        found = jvm.org.apache.spark.util.Utils.classForName(name, False, False).getDeclaredMethods()
        assert told in {each.getName() for each in found}


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

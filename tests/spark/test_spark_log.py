"""Spark's log on a disk that is full: the terminal belongs to the runner."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pyspark
import pytest

from headrace.environment.java import find_java, modules
from headrace.spark import session

pytestmark = pytest.mark.spark

LOGGING = """
import org.apache.logging.log4j.LogManager;
public class Logging {
    public static void main(String[] words) {
        for (int i = 0; i < 3; i++) LogManager.getLogger("x").error("y".repeat(9000));
        System.out.println("done");
    }
}
"""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a file that is always full")
@pytest.mark.skipif("jdk.compiler" not in modules(find_java()), reason="this Java compiles nothing")
def test_log_that_cannot_be_written_is_no_stack_on_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "Logging.java").write_text(LOGGING, "utf-8")
    (tmp_path / "spark.log").symlink_to("/dev/full")
    jars = sorted((Path(pyspark.__file__).parent / "jars").glob("log4j-[ac][po]*.jar"))
    settings = f"-Dlog4j2.configurationFile={Path(session.__file__).with_name('log4j2.properties')}"
    command = [find_java().program, "-cp", os.pathsep.join(map(str, jars)), settings, tmp_path / "Logging.java"]
    environ = {**os.environ, "HEADRACE_SPARK_LOG": str(tmp_path / "spark.log")}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("done\n", "")

"""The one Spark application, and the session each query runs in."""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from py4j import java_gateway
from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from headrace.environment import classes, java
from headrace.environment.jars import resolve
from headrace.errors import EnvironmentFault, HeadraceError
from headrace.project import secret_values
from headrace.project.model import Macro, Target
from headrace.secrets import is_secret
from headrace.spark import mode, parent
from headrace.spark.failures import message_of
from headrace.spark.jvm import java_class

SMALL_BATCH_ROWS = 20_000
"""Up to here generating code costs more than it saves (see docs/speed.md)."""

SMALL_BATCH_BYTES = 64 << 20
"""How large a small batch may be: it is on the driver's heap, and parts of it more than once."""

DELTA: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""The confs by which Spark knows Delta; it also needs the jars."""

_EXTERNAL_DTD = "javax.xml.accessExternalDTD"
"""From where Java may fetch the document type of an XML: from nowhere, as `xpath` reads the XML of records."""

_STATIC: Mapping[str, str] = {
    **DELTA,
    "spark.app.name": "headrace",
    "spark.scheduler.mode": "FAIR",
    "spark.sql.codegen.cache.maxEntries": "1000",
    # PySpark would ask the JVM six times, and look for IPython, at each step of building a column.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Java does not compile methods of more than 8,000 bytes by itself, and code that is generated may be longer.
    "spark.executor.defaultJavaOptions": f"-XX:-DontCompileHugeMethods -D{_EXTERNAL_DTD}=",
    # A column of more different values than fit gains nothing by a dictionary, and is not looked up in one any longer.
    "spark.hadoop.parquet.dictionary.page.size": "65536",
    "spark.redaction.regex": "(?i)secret|password|token|access[.]?key|account[.]?key|jaas|sasl|credential",
}

_WITHOUT_UI: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "500",
    "spark.sql.ui.retainedExecutions": "20",
}
"""Where headrace starts the JVM itself, there is no UI, and little is retained; spark-submit has Spark's defaults."""

_TYPES = "spark.sql.types.framework.enabled"

_EXCLUDED = (
    # It makes one subquery of two aggregates over the same rows, and a plan with a subquery cannot be cached.
    "org.apache.spark.sql.catalyst.optimizer.MergeSubplans",
    # It looks whether an array is there and has elements before it is exploded. That look is pushed down to where the
    # array is made, which is computed twice then, and the arguments of its macros again for each element.
    "org.apache.spark.sql.catalyst.optimizer.InferFiltersFromGenerate",
)

_RUNTIME: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    # Delta's parser does not hand `:parameters` on to Spark's newer way of binding them.
    "spark.sql.legacy.parameterSubstitution.constantsOnly": "true",
    # Long IN lists stay lists: only those are compared with the minima and maxima of cached chunks.
    "spark.sql.optimizer.inSetConversionThreshold": "200",
    "spark.sql.files.openCostInBytes": "262144",
    # To look at the files that it is to read, Spark has a task for each by default; a start reads those of 500 batches.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "16",
    # Spark describes each execution for its pages, whether they are shown or not; this is the shortest.
    "spark.sql.ui.explainMode": "simple",
    # Constraints of every column are computed again at each step of a plan, and no model's plan benefits.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.optimizer.excludedRules": ",".join(_EXCLUDED),
    # Unset, Spark looks for it in the process's environment, for each value that an expression takes from a row.
    _TYPES: "false",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.numRecentProgressUpdates": "20",
    "spark.sql.streaming.minBatchesToRetain": "20",
    "spark.sql.streaming.stopTimeout": "20s",
    # Spark's default has twelve bytes, no order, and is made by way of an object for each value.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.databricks.delta.stats.collect": "false",
    "spark.databricks.delta.allFilesInCrc.verificationMode.forceOnNonUTC.enabled": "false",
}

_GUARD: Mapping[str, str] = {
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.scripting.enabled": "false",
}
"""Second fence behind the check of the text: sessions that run analysts' SQL read no files by path."""

_PLAIN_TEXT: Mapping[str, str] = {"spark.sql.variable.substitute": "false"}
"""The text of a model is what runs: Spark substitutes no `${env:NAME}` in it, whatever a target's conf says."""

_LOCAL: Mapping[str, str] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Other users of this machine can reach Spark's ports; these answer only whoever knows a secret of this process.
    "spark.authenticate": "true",
    # A task whose stack overflows fails, and with it its query; by itself Spark would end the JVM. Full memory ends it.
    "spark.executor.killOnFatalError.depth": "0",
    "spark.driver.memory": "1500m",
    # By itself Spark takes 16 MB at once for each sort and hash table, of a row or two, and 4 MB for each stage's plan.
    # They are full of zeros, and go at once where only full collections free them: a third of all that was allocated.
    "spark.buffer.pageSize": "1m",
    "spark.broadcast.blockSize": "64k",
    "spark.broadcast.compress": "false",
    # Hadoop's own forks a `chmod` for every file that it makes; this one asks Java.
    "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}

_ON_A_BUCKET: Mapping[str, str] = {
    # Hadoop's markers of folders outlive a reset, and Spark takes those below `state/` for the state of another query.
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
}

_OUT_OF_MEMORY = 3
"""The exit code of a JVM that ends because its memory is full."""

_LAUNCHER_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Of the JVM that only puts together the command that starts Spark's: half of its 0.33 CPU-s are saved."""

JAVA_COMPILERS: Mapping[str, tuple[str, ...]] = {"full": (), "quick": ("-XX:TieredStopAtLevel=1",)}
"""Java compiles fast at first, and well once a method is hot; the latter pays after hours (docs/speed.md)."""

_JAVA_OPTIONS = (
    "-Duser.timezone=UTC -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m "
    # Up to here more classes are no reason for a full collection.
    "-XX:MetaspaceSize=200m -XX:MaxMetaspaceSize=400m "
    # Code that is generated may be longer than the 8,000 bytes up to which Java compiles a method by itself.
    "-XX:-DontCompileHugeMethods "
    # An image of the memory would hold the secrets of the target; the crash report, which says why, holds none.
    "-XX:-CreateCoredumpOnCrash "
    # A JVM without memory has lost threads that others wait for; it ends, and the next run goes on from the tables.
    "-XX:+ExitOnOutOfMemoryError"
)


def start(target: Target, log_file: Path | None = None) -> SparkSession:
    """Return the application's session; master and confs set from outside win over the target's."""
    os.environ.setdefault("TZ", "UTC")
    quieten()
    outside = "SPARK_ENV_LOADED" in os.environ or "PYSPARK_GATEWAY_PORT" in os.environ
    confs: dict[str, str] = {mode.KEY: target.small_batches}
    if not outside:
        java.program()  # where there is none, Spark's own scripts say so in many lines
        os.environ.setdefault("SPARK_LAUNCHER_OPTS", _LAUNCHER_OPTIONS)
        confs |= _launch_confs(target, log_file)
    submitted = _submitted_confs() if outside else None
    for key, value in {**_defaults(outside), **_store_confs(target), **target.spark_conf}.items():
        if submitted is None or not submitted.contains(key):
            confs[key] = value
    confs |= _PLAIN_TEXT
    if submitted is not None and not submitted.contains("spark.jars"):
        confs["spark.jars"] = _jars_for_running_jvm(target)
    with _preserved_interrupt_handler(), _startup_errors():
        if len(shown := _shown(target, confs)) < len(confs):
            SparkContext._ensure_initialized(conf=SparkConf().setAll(shown))
        SparkContext.getOrCreate(SparkConf().setAll([*confs.items()]))
        spark = SparkSession.builder.config(map=dict[str, Any](confs)).getOrCreate()
    spark.sparkContext.setLogLevel("WARN" if log_file else "ERROR")
    java_class(spark._jvm, "java.lang.System").setProperty(_EXTERNAL_DTD, "")
    parent.pid_of(spark._jvm)  # asked while it answers
    return spark


def quieten() -> None:
    """Silence loggers that repeat errors: PySpark writes SQL errors as JSON, and Py4J a traceback when its JVM ends."""
    for noisy in ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """Py4J's gateway writes to the root logger; a filter that is there already is not added again."""
    return Path(record.pathname) != Path(java_gateway.__file__)


def _shown(target: Target, confs: Mapping[str, str]) -> list[tuple[str, str]]:
    """The confs for the JVM's command line, which everybody on the machine sees and a crash report repeats."""
    withheld, secret = _store_confs(target).keys() - target.spark_conf.keys(), secret_values.of(target)
    return [
        (key, value)
        for key, value in confs.items()
        if key not in withheld and not is_secret(key) and value not in secret
    ]


def _defaults(outside: bool) -> dict[str, str]:
    """The confs that a target may change, for a JVM that spark-submit has started (`outside`) or that we start."""
    return {**_STATIC, **_RUNTIME, **({} if outside else _WITHOUT_UI)}


def _store_confs(target: Target) -> Mapping[str, str]:
    """What makes Spark reach the target's object store."""
    return {} if target.place is None else {**_ON_A_BUCKET, **target.place.confs}


def _jars(target: Target) -> tuple[Path, ...]:
    """The jars that a session of the target needs."""
    own = () if target.place is None else tuple(jar for name in target.place.jars for jar in resolve(name))
    return (*resolve("spark"), *own)


@contextmanager
def _startup_errors() -> Iterator[None]:
    """Report in one line why Spark does not start; Java is asked for its version only then, as that takes a while."""
    try:
        yield
    except PySparkRuntimeError as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        found = java.find_java()  # raises an error of its own if Java is at fault
        message = f"Spark's JVM does not start on {found.program} (Java {found.major}); its output is above."
        raise EnvironmentFault(f"{message} Look at `spark:` in conf/, and at the memory that is free.") from error
    except Py4JJavaError as error:
        raise EnvironmentFault(f"Spark does not start: {message_of(error)}. Look at `spark:` in conf/.") from error


@contextmanager
def _preserved_interrupt_handler() -> Iterator[None]:
    """Restore the caller's handler of Ctrl-C: PySpark replaces it by one that raises an exception anywhere."""
    handler = signal.getsignal(signal.SIGINT)
    yield
    if handler is not signal.default_int_handler and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


@contextmanager
def running(target: Target, log_file: Path | None = None) -> Iterator[SparkSession]:
    """The application while a block runs; whatever fails because its JVM has ended is reported as that."""
    spark = start(target, log_file)
    try:
        with spark:
            yield spark
    except Exception as error:
        if (cause := ended(spark)) is None:
            raise
        raise HeadraceError(cause) from error


def ended(spark: SparkSession) -> str | None:
    """Describe how the JVM that this process started, or spark-submit's that started this one, has ended, if it has."""
    process = getattr(spark.sparkContext._gateway, "proc", None)  # a driver that spark-submit starts has none
    code = None if process is None else process.poll()
    if code is None:
        return f"Spark's JVM ended; {_NEXT}" if process is None and parent.is_gone(spark._jvm) else None
    way_out = _MEMORY if code == _OUT_OF_MEMORY else ""
    return f"Spark's JVM ended ({_how(code)}); {way_out}{_NEXT}"


_NEXT = "the next run continues from what is committed"
_MEMORY = (
    "give it more by `spark: {conf: {spark.driver.memory: 3g}}` or smaller batches by `trigger: {max_rows: 20000}`, or"
    " leave out a batch that never fits by `headrace skip`; "
)


def _how(code: int) -> str:
    if code == _OUT_OF_MEMORY:
        return "out of memory"
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


def child(spark: SparkSession, pool: str, macros: Iterable[Macro] = ()) -> SparkSession:
    """Return a session of its own: own views, macros and confs, shared cache, a fair share of the cores."""
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", pool)
    if mode.is_jobs(spark):
        return _configured(spark, tuple(macros))
    template: Any = _template(spark, tuple(macros))._jsparkSession
    return SparkSession(spark.sparkContext, template.cloneSession())


@lru_cache(maxsize=4)
def _template(spark: SparkSession, macros: tuple[Macro, ...]) -> SparkSession:
    """The session that queries' sessions are cloned from: declaring all macros for each costs more than a batch."""
    return _configured(spark, macros)


def _configured(spark: SparkSession, macros: tuple[Macro, ...]) -> SparkSession:
    session = spark.newSession()
    session.conf.set(mode.KEY, str(spark.conf.get(mode.KEY, "driver")))
    # Spark's default would send a few rows to two hundred places, each of which is a task.
    partitions = {"spark.sql.shuffle.partitions": str(spark.sparkContext.defaultParallelism)}
    for key, value in {**_RUNTIME, **_GUARD, **_PLAIN_TEXT, **partitions}.items():
        session.conf.set(key, value)
    for macro in macros:
        session.sql(macro.text)
    return session


def tune(session: SparkSession, rows: int) -> None:
    """Set the session up for a batch of about `rows` rows."""
    small = rows <= SMALL_BATCH_ROWS
    partitions = 1 if small else session.sparkContext.defaultParallelism
    generates, factory = str(not small).lower(), "NO_CODEGEN" if small else "FALLBACK"
    session.conf.set("spark.sql.shuffle.partitions", str(partitions))
    session.conf.set("spark.sql.codegen.wholeStage", generates)
    session.conf.set("spark.sql.codegen.factoryMode", factory)
    # Spark describes each plan that runs, for its pages. With the columns of each step, those of large plans are long.
    session.conf.set("spark.sql.debug.maxToStringFields", "0")
    # A plan that is run again (see `CachedPlan`) is copied first, but not what it reuses, which would keep its first
    # rows.
    session.conf.set("spark.sql.exchange.reuse", generates)
    # Tasks of a job that is no SQL execution of its own (see `materialize`) know only the thread's properties.
    for name in ("spark.sql.codegen.factoryMode", _TYPES):
        session.sparkContext.setLocalProperty(name, str(session.conf.get(name)))


def _submitted_confs() -> SparkConf:
    """The confs that spark-submit was started with; its JVM is up before us."""
    SparkContext._ensure_initialized()
    return SparkConf()


def _jars_for_running_jvm(target: Target) -> str:
    """Our jars, added to a driver that spark-submit started without them; executors get them by `spark.jars`."""
    jvm: Any = SparkContext._jvm
    jars = _jars(target)
    loader = java_class(jvm, "java.lang.Thread").currentThread().getContextClassLoader()
    for jar in jars:
        loader.addURL(java_class(jvm, "java.io.File")(str(jar)).toURI().toURL())
    return ",".join(str(jar) for jar in jars)


def _launch_confs(target: Target, log_file: Path | None) -> dict[str, str]:
    confs = {"spark.master": target.spark_master or "local[2]"}
    jars = [str(jar) for jar in _jars(target)]
    quoted = JAVA_COMPILERS[target.compiler]
    if log_file is not None:
        quoted += (f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}",)
        os.environ["HEADRACE_SPARK_LOG"] = str(log_file.absolute())  # the launcher takes some letters of a path apart
    if confs["spark.master"].startswith("local["):
        # First of all jars: in `spark.jars`, each of their classes would be looked for in Spark's 280 jars before.
        confs |= {**_LOCAL, "spark.driver.extraClassPath": os.pathsep.join(jars)}
        quoted += classes.SPARK.options()
    else:
        confs["spark.jars"] = ",".join(jars)
    return {**confs, "spark.driver.extraJavaOptions": " ".join((_JAVA_OPTIONS, *map(_quoted, quoted)))}


def _quoted(option: str) -> str:
    """An option as Spark's launcher takes it for one: it splits them at blanks, and ends quotes at the next one."""
    return '"' + re.sub(r'(["\\])', r"\\\1", option) + '"'

"""A rehearsal: a project reads and sends a few records, so that both JVMs load what a run needs.

It is what `headrace init` writes and what the folder `rehearsal` adds to it: a model for Spark's streaming engine, and
one that is published.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from headrace.commands.starting import NAME, written
from headrace.demo.records import Record
from headrace.demo.sending import send
from headrace.environment import classes
from headrace.environment.broker import Broker
from headrace.errors import HeadraceError
from headrace.project.declarations.targets.references import BOOTSTRAP_VARIABLE, DATA_DIR_VARIABLE
from headrace.project.model import Kafka
from headrace.reading.topics import ensure
from headrace.store.layout import Layout

_VISITS = 20


def record_classes() -> str | None:
    """Save the classes of a rehearsal's JVMs for later starts; return what went wrong, None if nothing did."""
    with TemporaryDirectory() as folder:
        project = Path(folder) / NAME
        for _ in (*written(project), *written(project, "rehearsal")):
            pass
        data = project / "data"
        try:
            with Broker(Layout(data).broker).running() as state:
                _send_visits(Kafka(str(state.bootstrap), {}, create_topics=True))
        except HeadraceError as error:
            return str(error)
        # The run has a broker of its own, with the same data, which ends with it.
        run = [sys.executable, "-m", "headrace", "-C", str(project), "run", "--available-now"]
        return classes.record(run, project, {BOOTSTRAP_VARIABLE: "embedded", DATA_DIR_VARIABLE: str(data)})


def _send_visits(kafka: Kafka) -> None:
    ensure(kafka, {"visits": 1})
    visits = (json.dumps({"visitor": f"visitor {number}", "seconds": number}) for number in range(_VISITS))
    send(kafka, [Record("visits", "/home", visit) for visit in visits])

"""Plain Spark SQL over Kafka and Delta, run as exactly-once streaming queries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headrace.version import __version__ as __version__

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.elsewhere.notebook import Notebook


def session(project: str | Path = ".", target: str = "local") -> Notebook:
    """Open a project in a notebook: its Spark session, and its tables as they are stored for a target."""
    from headrace.elsewhere import notebook

    return notebook.session(project, target)


def sql(text: str) -> DataFrame:
    """The rows of a model's text, or of any query like one, over the project that was opened last."""
    from headrace.elsewhere import notebook

    return notebook.sql(text)

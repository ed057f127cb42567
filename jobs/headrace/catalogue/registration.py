"""The statements that make a project's stored tables known to a catalogue, each at the place where it is.

They are run once: a table stays where it is whatever is committed to it, also after a reset or a swap.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headrace.catalogue.kinds import Catalogue
from headrace.project.literals import quoted
from headrace.project.model import Project
from headrace.store.paths import StorePath, spark_uri


def statements(project: Project, catalogue: Catalogue) -> Iterator[str]:
    """A statement for each schema and each stored table; landings are named after their topics' schema, bronze."""
    found = [*_tables(project)]
    for schema in dict.fromkeys(name.partition(".")[0] for name, _, _ in found):
        yield f"CREATE SCHEMA IF NOT EXISTS `{schema}`;"
    for name, path, description in found:
        yield _statement(name, path, description, catalogue)


def _tables(project: Project) -> Iterator[tuple[str, StorePath, str]]:
    layout = project.target.layout
    for landing in project.landings:
        topics = ", ".join(topic.name for topic in landing.topics)
        yield f"bronze.landing_{landing.name}", layout.landing(landing.name), f"Records as they landed: {topics}"
    for query in project.queries:
        for model in query.models:
            yield model.table, layout.table(model.table), model.description


def _statement(name: str, path: StorePath, description: str, catalogue: Catalogue) -> str:
    table = ".".join(f"`{part}`" for part in name.split("."))
    place = quoted(_location(path, catalogue))
    if catalogue == "glue":
        return f"CREATE EXTERNAL TABLE IF NOT EXISTS {table} LOCATION {place} TBLPROPERTIES ('table_type' = 'DELTA');"
    comment = f" COMMENT {quoted(description)}" if description else ""
    return f"CREATE TABLE IF NOT EXISTS {table} USING DELTA LOCATION {place}{comment};"


def _location(path: StorePath, catalogue: Catalogue) -> str:
    """Hadoop's name of a place; of Amazon's the one that is not only Hadoop's, for all but Hive."""
    if isinstance(path, Path):
        return path.absolute().as_uri()
    uri = spark_uri(path)
    return uri if catalogue == "hive" else uri.replace("s3a://", "s3://", 1)

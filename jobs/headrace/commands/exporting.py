"""Writing a project in the form of other tools."""

from __future__ import annotations

import sys
from pathlib import Path

from headrace.catalogue.kinds import Catalogue
from headrace.catalogue.registration import statements
from headrace.commands.workspace import Workspace
from headrace.errors import ExitCode, UsageError
from headrace.reading import printing


def export_catalog(workspace: Workspace, catalogue: Catalogue) -> int:
    """Print the statements that register all stored tables."""
    printing.write_lines(statements(workspace.declared, catalogue))
    return ExitCode.OK


def export_sdp(workspace: Workspace, folder: Path) -> int:
    """Write a pipeline; what is exported is listed on stdout, what is not on stderr."""
    from headrace.elsewhere.sdp import SETTINGS, export
    from headrace.spark import session
    from headrace.spark.columns import landing_schema
    from headrace.tables.delta import CommitTable

    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; name a new folder")
    spark = session.start(workspace.declared.target, workspace.layout.spark_log())  # the export needs Spark's types
    try:
        pipeline = export(workspace.declared, folder)
        for landing in workspace.declared.landings:  # a pipeline asks for their columns as soon as it is read
            CommitTable(spark, workspace.layout.landing(landing.name), landing_schema()).create()
    finally:
        spark.stop()
    for name, text in pipeline.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for table, kind in pipeline.kinds.items():
        print(f"{table}: {kind}")
    for table, reason in pipeline.refused.items():
        print(f"{table} stays: {reason}", file=sys.stderr)
    print(f"check it: cd {folder}; spark-pipelines dry-run --properties-file {SETTINGS}", file=sys.stderr)
    return ExitCode.OK

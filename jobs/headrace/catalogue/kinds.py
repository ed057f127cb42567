"""The catalogues in which tables can be registered; by itself, as the command line needs nothing else to show them."""

from __future__ import annotations

from typing import Literal

Catalogue = Literal["hive", "unity", "glue"]
"""Hive's metastore as Spark and Trino use it; Databricks' Unity; AWS Glue, by Athena's statements."""

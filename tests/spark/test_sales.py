"""News of products that reach the sales target, and their sales per minute: the models run over a few records."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession

from headrace.testing.runs.trial import Models

pytestmark = pytest.mark.spark

NEWS = "product string, total decimal(38,0), is_retraction boolean"
MINUTES = "product string, window_start timestamp, window_end timestamp, sales_count bigint, total decimal(38,0)"

Record = dict[str, Any]


def sale(product: str, value: int, **rest: Any) -> Record:
    """A record of the topic `sales-events-v1`."""
    return {"key": product, "value": {"product": product, "value": value}, **rest}


def deletion(product: str) -> Record:
    """A record that deletes a product's total."""
    return {"key": product, "value": None}


def minute(number: int) -> datetime:
    """A minute after ten o'clock."""
    return datetime(2026, 1, 1, 10, number, tzinfo=timezone.utc)


def notifications(models: Models, *batches: list[Record], **variables: Any) -> DataFrame:
    """The rows of `gold.sales_notifications` when all batches have landed, one after another."""
    rows = models.rows("gold.sales_notifications", [{"sales": batch} for batch in batches], **variables)
    return rows.select("product", "total", "is_retraction")


def test_each_sale_at_the_target_is_news(models: Models, spark: SparkSession) -> None:
    found = notifications(models, [sale("pen", 1500), sale("pen", 1000), sale("pen", 500), sale("ink", 1999)])
    due = [("pen", Decimal(2500), False), ("pen", Decimal(3000), False)]
    assert_df_equality(found, spark.createDataFrame(due, NEWS), ignore_nullable=True, ignore_row_order=True)


def test_total_below_the_target_is_taken_back(models: Models, spark: SparkSession) -> None:
    found = notifications(models, [sale("pen", 2000)], [sale("pen", -1), sale("pen", -1)])
    due = [("pen", Decimal(2000), False), ("pen", Decimal(1999), True)]
    assert_df_equality(found, spark.createDataFrame(due, NEWS), ignore_nullable=True, ignore_row_order=True)


def test_deleted_product_starts_at_zero(models: Models, spark: SparkSession) -> None:
    found = notifications(models, [sale("pen", 2000)], [deletion("pen")], [sale("pen", 1999)])
    due = [("pen", Decimal(2000), False), ("pen", None, True)]
    assert_df_equality(found, spark.createDataFrame(due, NEWS), ignore_nullable=True, ignore_row_order=True)


def test_policy_once_reports_the_first_time(models: Models, spark: SparkSession) -> None:
    sales = [sale("pen", 2000), sale("pen", -1), sale("pen", 500)]
    found = notifications(models, sales, sales_policy="once")
    due = [("pen", Decimal(2000), False)]
    assert_df_equality(found, spark.createDataFrame(due, NEWS), ignore_nullable=True, ignore_row_order=True)


def test_minute_is_reported_when_it_is_final(models: Models, spark: SparkSession) -> None:
    found = models.rows(
        "gold.sales_per_minute",
        [
            {"sales": [sale("pen", 100, timestamp=minute(0)), sale("pen", 7, timestamp=minute(1))]},
            {"sales": [sale("pen", 20, timestamp=minute(0))]},
            {"sales": [sale("ink", 1, timestamp=minute(2))]},  # a minute after the first one ended: time to close it
        ],
    )
    due = [("pen", minute(0), minute(1), 2, Decimal(120))]
    assert_df_equality(found, spark.createDataFrame(due, MINUTES), ignore_nullable=True, ignore_row_order=True)

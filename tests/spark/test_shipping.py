"""An order is shipped when all its products are made: the models run over a few records, batch by batch."""

from __future__ import annotations

from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession

from headrace.testing.runs.trial import Models

pytestmark = pytest.mark.spark

Record = dict[str, Any]


def order(key: str, *products: int) -> Record:
    """A record of the topic `orders`."""
    return {"key": key, "value": {"id": key, "items": [{"id": product} for product in products]}}


def made(key: str, product: int) -> Record:
    """A record of the topic `manufactured`."""
    return {"key": key, "value": {"orderId": key, "productId": product}}


def shipped(models: Models, *batches: dict[str, list[Record]]) -> DataFrame:
    """The orders in `gold.shipment_ready` when all batches have landed, one after another."""
    return models.rows("gold.shipment_ready", batches).select("order_id")


def orders(spark: SparkSession, *keys: str) -> DataFrame:
    """The expected orders."""
    return spark.createDataFrame([(key,) for key in keys], "order_id string")


def test_order_ships_when_all_is_made(models: Models, spark: SparkSession) -> None:
    found = shipped(
        models,
        {"orders": [order("complete", 1, 2), order("waiting", 1, 2)]},
        {"manufactured": [made("complete", 1), made("waiting", 1)]},
        {"manufactured": [made("complete", 2)]},
    )
    assert_df_equality(found, orders(spark, "complete"))


def test_made_products_wait_for_their_order(models: Models, spark: SparkSession) -> None:
    found = shipped(
        models,
        {"manufactured": [made("late", 1), made("never", 1)]},
        {"orders": [order("late", 1)]},
    )
    assert_df_equality(found, orders(spark, "late"))


def test_equal_counts_are_not_enough(models: Models, spark: SparkSession) -> None:
    found = shipped(
        models,
        {"orders": [order("other", 1, 2), order("more", 1, 2)]},
        {"manufactured": [made("other", 1), made("other", 3), *(made("more", product) for product in (1, 2, 3))]},
    )
    assert_df_equality(found, orders(spark, "more"))


def test_order_sent_again_replaces_its_products(models: Models, spark: SparkSession) -> None:
    found = shipped(
        models,
        {"orders": [order("fewer", 1, 2), order("extended", 1)]},
        {"orders": [order("fewer", 1), order("extended", 1, 2)]},
        {"manufactured": [made("fewer", 1), made("extended", 1)]},
    )
    assert_df_equality(found, orders(spark, "fewer"))


def test_order_ships_once_for_ever(models: Models, spark: SparkSession) -> None:
    found = shipped(
        models,
        {"orders": [order("a", 1), order("a", 1)]},
        {"manufactured": [made("a", 1), made("a", 1)]},
        {"orders": [order("a", 1)], "manufactured": [made("a", 1)]},
    )
    assert_df_equality(found, orders(spark, "a"))

"""What conf/<target>.yml names, and what the project has of it."""

from __future__ import annotations

import pytest

from headrace.errors import InvalidProject
from headrace.project.loader import load
from headrace.project.rules.conf_rules import LOSSY

BRONZE = "sql/bronze/shipping.yml"
READY = "sql/gold/shipping/shipment_ready.sql"
CONF = "conf/local.yml"
PUBLISHED = """/*
What is open again, one row per order.

publish: {topic: open-orders, key: order_id, value: {orderId: order_id}}
*/
select order_id, _arrival
from stream silver.open_orders
"""


def names(project) -> tuple[set[str], set[str | None]]:
    """The topics that a project reads, and those that it publishes to."""
    read = {topic.topic for landing in project.landings for topic in landing.topics}
    return read, {model.publish.topic for model in project.models if model.publish}


def test_variable_that_nothing_uses_is_a_finding(project_files):
    project_files.write(CONF, "vars: {limt: 5}\n")
    with pytest.raises(InvalidProject, match=r"conf/local.yml:1:8: unknown-variable: .* Did you mean limit\?"):
        project_files.load()


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("manifest.yml", "{limit: 2}", "{limit: 2, more: 1}"),
        (READY, ":limit", ":more"),
        (BRONZE, "    event_time:", "    idle_after: :more\n    event_time:"),
    ],
)
def test_variable_that_something_uses_is_known(project_files, path, old, new):
    project_files.edit(path, old, new)
    project_files.write(CONF, "vars: {more: 5, idle_tick: 1}\n")
    assert project_files.findings() == []


def test_variable_of_a_duration_is_known(project_files):
    text = "/*\nOne row.\n\nmaterialized: snapshot\nevery: :more\n*/\nselect order_id from silver.open_orders\n"
    project_files.write("sql/gold/shipping/taken.sql", text)
    project_files.write(CONF, "vars: {more: 5}\n")
    assert project_files.findings() == []


def test_variable_of_the_manifest_may_be_unused(project_files):
    project_files.edit("manifest.yml", "{limit: 2}", "{limit: 2, more: 1}")
    assert project_files.findings() == []


def test_broken_file_may_use_a_variable(project_files):
    project_files.edit(READY, "once_per:", "once_pre:")
    project_files.write(CONF, "vars: {more: 5}\nkafka: {topics: {there: x}}\n")
    assert project_files.findings() == [f"{READY}:4:1 unknown-key"]


def test_variable_is_reported_where_the_target_has_it_from(project_files):
    project_files.write(CONF, "data_dir: data\nvars: {limt: 5}\n")
    project_files.write("conf/dev.yml", "like: local\nvars: {lmit: 5}\n")
    with pytest.raises(InvalidProject) as caught:
        load(project_files.root, "dev")
    assert [str(found.place) for found in caught.value.findings] == ["conf/dev.yml:2:8", "conf/local.yml:2:8"]


def test_cluster_names_sources_and_published_topics(project_files):
    project_files.write(CONF, "kafka: {topics: {orders: eu.orders, shipping: eu.shipping}}\n")
    assert names(project_files.load()) == ({"eu.orders", "manufactured"}, {"eu.shipping"})


def test_suffix_comes_after_the_name_in_the_cluster(project_files):
    project_files.write(CONF, "kafka: {topics: {orders: eu.orders, shipping: eu.shipping}}\ndata_dir: data\n")
    project_files.write("conf/dev.yml", "like: local\nkafka: {topics: {manufactured: eu.made}}\n")
    assert names(load(project_files.root, "dev")) == ({"eu.orders", "eu.made"}, {"eu.shipping_dev"})


def test_topic_named_by_a_column_stays(project_files):
    project_files.edit(READY, "topic: shipping", "topic: {column: order_id}")
    project_files.write(CONF, "kafka: {topics: {orders: eu.orders}}\n")
    assert names(project_files.load())[1] == {None}


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        ("{shiping: x}", f"{CONF}:1:18 unknown-topic"),
        ("{orders: x, manufactured: x}", f"{CONF}:1:29 duplicate-topic"),
        ("{orders: x, shipping: x}", f"{CONF}:1:29 duplicate-topic"),
        ("{orders: manufactured}", f"{BRONZE}:8:3 duplicate-topic"),
        ("{shipping: open-orders}", f"{CONF}:1:18 two-publishers"),
    ],
)
def test_names_lead_from_one_topic_to_one(project_files, topics, expected):
    project_files.write("sql/gold/shipping/open_again.sql", PUBLISHED)
    project_files.write(CONF, f"kafka: {{topics: {topics}}}\n")
    assert expected in project_files.findings()


def test_two_topics_may_change_their_names(project_files):
    project_files.write(CONF, "kafka: {topics: {orders: manufactured, manufactured: orders}}\n")
    assert project_files.findings() == []


def test_topic_that_is_misspelt_has_advice(project_files):
    project_files.write(CONF, "kafka: {topics: {shiping: x}}\n")
    with pytest.raises(InvalidProject, match=r"Did you mean shipping\?"):
        project_files.load()


@pytest.mark.parametrize("key", LOSSY)
def test_setting_that_loses_rows_is_refused(project_files, key):
    lossy = LOSSY[key]
    project_files.write(CONF, f"spark: {{conf: {{{key}: {lossy.upper()}}}}}\n")
    assert [each.split()[1] for each in project_files.findings()] == ["lossy-setting"]
    project_files.write(CONF, f"spark: {{conf: {{{key}: {'false' if lossy == 'true' else 'true'}}}}}\n")
    assert project_files.findings() == []


@pytest.mark.parametrize("master", ["sc://localhost", "mesos://host:5050", "locals", "spark:host"])
def test_master_that_spark_does_not_know_is_refused(project_files, master):
    project_files.write(CONF, f"spark: {{master: '{master}'}}\n")
    assert [each.split()[:2] for each in project_files.findings()] == [["conf/local.yml:1:9", "unknown-master"]]


@pytest.mark.parametrize(
    "master", ["local", "local[*]", "local[4, 2]", "spark://a:7077,b:7077", "k8s://https://a", "yarn"]
)
def test_master_that_spark_knows_passes(project_files, master):
    project_files.write(CONF, f"spark: {{master: '{master}'}}\n")
    assert project_files.findings() == []

"""Names of Kafka's topics."""

from __future__ import annotations

import pytest

from headrace.project.kafka_options import topic_names


@pytest.mark.parametrize("name", ["shipping", "captcha.requests_v1-b", "a" * 249, "headrace", "_x", "..."])
def test_topic_may_be_named_so(name: str) -> None:
    assert topic_names.fault(name) is None


@pytest.mark.parametrize("name", ["", ".", "..", "captcha requests!", "é", "a\n", "a" * 250])
def test_kafka_takes_no_such_name(name: str) -> None:
    assert not topic_names.is_topic_name(name)
    assert topic_names.fault(name)


@pytest.mark.parametrize("name", ["headrace-progress", "headrace-progress_dev", "__consumer_offsets"])
def test_some_names_are_taken(name: str) -> None:
    assert topic_names.is_topic_name(name)
    assert topic_names.fault(name)

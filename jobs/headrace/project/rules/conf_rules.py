"""Rules about conf/<target>.yml: what it names is there in the project."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headrace.errors import Finding, did_you_mean
from headrace.project.declarations.manifest import Manifest
from headrace.project.flows.draft import Draft
from headrace.project.model import Target
from headrace.project.rules.duration_rules import IDLE_TICK

LOSSY = {
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.streaming.statefulOperator.checkCorrectness.enabled": "false",
}
"""Settings of Spark with which rows are lost without a word, and their values."""


_MASTER = re.compile(r"local(\[.*\])?|local-cluster\[.*\]|yarn|(spark|k8s)://.+")


def check(draft: Draft, manifest: Manifest, target: Target) -> list[Finding]:
    """Return what all rules find; the draft has the topics as its files name them."""
    found = [*_unknown_master(target), *_shared_topics(target), *_lossy_settings(target)]
    if not draft.unreadable:  # else a broken file may use or name anything
        found += [*_unknown_variables(draft, manifest, target), *_unknown_topics(draft, target)]
    return found


def _unknown_master(target: Target) -> Iterator[Finding]:
    """Spark knows the master."""
    master = target.spark_master
    if master and not _MASTER.fullmatch(master):
        cause = "headrace does not run over Spark Connect" if master.startswith("sc:") else "Spark has no such master"
        message = f"{master}: {cause}; give local[2], spark://host:7077, k8s://https://host:443 or yarn"
        yield Finding(target.places["spark.master"], "unknown-master", message)


def _unknown_variables(draft: Draft, manifest: Manifest, target: Target) -> Iterator[Finding]:
    """Each variable of a target is one of the manifest's, or some file uses it."""
    known = {IDLE_TICK, *manifest.vars, *_used(draft)}
    for name in target.vars.keys() - known:
        message = f"no file uses `:{name}`, and vars in manifest.yml has none of that name."
        place = target.places[f"vars.{name}"]
        yield Finding(place, "unknown-variable", f"{message}{did_you_mean(name, known) or ' Take it out.'}")


def _unknown_topics(draft: Draft, target: Target) -> Iterator[Finding]:
    """Each topic that a target calls by another name is a source, or a model publishes to it."""
    known = {topic.topic for landing in draft.landings for topic in landing.topics}
    publishes = (file.model.publish for file in draft.files)
    known |= {publish.topic for publish in publishes if publish and publish.topic}
    for name in target.kafka.topics.keys() - known:
        message = f"no source has the topic {name}, and no model publishes to it.{did_you_mean(name, known)}"
        yield Finding(target.places[f"kafka.topics.{name}"], "unknown-topic", message)


def _shared_topics(target: Target) -> Iterator[Finding]:
    """Two topics of the project are not one in the cluster."""
    first: dict[str, str] = {}
    for name, topic in target.kafka.topics.items():
        other = first.setdefault(topic, name)
        if other != name:
            message = f"{other} is {topic} too; give each topic a name of its own"
            yield Finding(target.places[f"kafka.topics.{name}"], "duplicate-topic", message)


def _lossy_settings(target: Target) -> Iterator[Finding]:
    """No setting lets Spark go on without rows that it should read or give."""
    for key, lossy in LOSSY.items():
        if target.spark_conf.get(key, "").lower() == lossy:
            message = f"with {key}: {lossy} Spark may leave out rows without a word; take it out"
            yield Finding(target.places[f"spark.conf.{key}"], "lossy-setting", message)


def _used(draft: Draft) -> Iterator[str]:
    """The names of all parameters, in texts and where a duration may be one."""
    for file in draft.files:
        yield from (parameter.name for parameter in file.text.parameters)
        yield from (name for name in (file.model.remember, file.model.every) if isinstance(name, str))
    for landing in draft.landings:
        yield from (topic.idle_after for topic in landing.topics if isinstance(topic.idle_after, str))

"""Hadoop's own file system: Spark has its client, and names the store as headrace does.

Files and checkpoints are written under another name and renamed there, in one step, which is Spark's default.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.store.connectors.places import Options, Place, joined, parts

OPTIONS = ("dfs.client.socket-timeout", "dfs.client.use.datanode.hostname")
"""What both clients read from their configuration, and what may differ from machine to machine."""

_WRITES: Mapping[str, str] = {
    # A file is closed when a DataNode has reported its last block; the first look comes after 400 ms otherwise.
    "spark.hadoop.dfs.client.block.write.locateFollowingBlock.initial.delay.ms": "10",
    "spark.hadoop.dfs.client.block.write.locateFollowingBlock.retries": "12",
}


def place(url: str, options: Options) -> Place:
    """Translate a folder's url and options; `parts` refuses what the two clients might read differently."""
    authority, prefix = parts(url)
    confs = {f"spark.hadoop.{name}": value for name, value in options.items()}
    return Place(joined(f"hdfs://{authority}", prefix), {**_WRITES, **confs})

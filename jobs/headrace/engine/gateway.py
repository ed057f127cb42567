"""The bridge to the JVM, mended so that Spark's plans go as soon as Python lets go of them."""

from __future__ import annotations

from py4j.java_gateway import JavaMember, JavaObject, is_magic_member


def forget_members() -> None:
    """Let Java objects not remember their methods.

    Py4J keeps in each object the methods that were asked of it, and in each method its object. Such a ring is freed
    only by Python's full collection, which may be minutes away; until then the JVM keeps every plan of every batch.
    Without it the last reference that goes takes the plan along.
    """
    JavaObject.__getattr__ = _member


def _member(of: JavaObject, name: str) -> JavaMember:
    if is_magic_member(name):
        raise AttributeError(name)
    return JavaMember(name, of, of._target_id, of._gateway_client)

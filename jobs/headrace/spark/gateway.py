"""The bridge to the JVM, mended: plans go as soon as Python lets go of them, and nothing is looked for in vain."""

from __future__ import annotations

import sys
from typing import Any

from py4j.java_gateway import JavaClass, JavaMember, JavaObject, JavaPackage, JVMView, is_magic_member
from pyspark.sql.types import NumpyArrayConverter, NumpyScalarConverter

_NAMED = (JVMView, JavaPackage, JavaClass)
_look_up = {kind: kind.__getattr__ for kind in _NAMED}
_can_convert: dict[Any, Any] = {kind: kind.can_convert for kind in (NumpyArrayConverter, NumpyScalarConverter)}


def mend() -> None:
    """Let Java objects forget their methods, and classes be remembered.

    Py4J keeps in each object the methods that were asked of it, and in each method its object. Such a ring is freed
    only by Python's full collection, which may be minutes away; until then the JVM keeps every plan of every batch.
    Without it the last reference that goes takes the plan along.

    Names of classes and packages it looks for anew each time, for most of them in every jar: a sixth of what planning
    costs. There are few of them, and none of them changes.

    To know whether an argument is numpy's, PySpark imports its test tools, and with them pandas where it is installed:
    half a CPU-second of a start. Nothing is numpy's before that has been imported.
    """
    for converter in _can_convert:
        converter.can_convert = _can_convert_numpy
    JavaObject.__getattr__ = _member
    for kind in _NAMED:
        kind.__getattr__ = _remembered


def _member(of: JavaObject, name: str) -> JavaMember:
    if is_magic_member(name):
        raise AttributeError(name)
    return JavaMember(name, of, of._target_id, of._gateway_client)


def _remembered(of: Any, name: str) -> Any:
    found = _look_up[type(of)](of, name)
    if isinstance(found, (JavaClass, JavaPackage, JavaMember)):
        vars(of)[name] = found
    return found


def _can_convert_numpy(converter: Any, value: Any) -> bool:
    return "numpy" in sys.modules and bool(_can_convert[type(converter)](converter, value))

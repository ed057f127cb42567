"""The list of mutations keeps up with the code: each has its text in its file, and a test that is there."""

from __future__ import annotations

import ast

import pytest

from tests.faults.mutations import ROOT, Mutation, mutations


@pytest.mark.parametrize("mutation", mutations(), ids=lambda each: each.name)
def test_mutation_can_be_applied(mutation: Mutation) -> None:
    ast.parse(mutation.applied((ROOT / mutation.file).read_text("utf-8")))
    file, _, name = mutation.test.partition("::")
    assert f"def {name.partition('[')[0]}" in (ROOT / file).read_text("utf-8")


def test_there_are_enough_mutations() -> None:
    assert len({each.name for each in mutations()}) == len(mutations()) >= 15

"""A crash at an exact point: a method that fails once, before or after doing its work."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

import pytest


class Crash(Exception):
    """Nobody catches this."""


@dataclass(frozen=True)
class Point:
    """Before or after a certain call of a method."""

    owner: type
    method: str
    when: Literal["before", "after"]
    call: int = 1

    def arm(self, patch: pytest.MonkeyPatch) -> None:
        """Let it happen."""
        real, calls = getattr(self.owner, self.method), count(1)

        def failing(*args: Any, **named: Any) -> Any:
            its_turn = next(calls) == self.call
            if its_turn and self.when == "before":
                raise Crash
            result = real(*args, **named)
            if its_turn:
                raise Crash
            return result

        patch.setattr(self.owner, self.method, failing)

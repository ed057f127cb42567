"""Guard against tests that cannot fail: faults are put into a copy of the code, and each must turn its test red.

`make mutations` runs all, `python -m tests.faults.mutations lock` those with the word in their name.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
_NO_SOURCES = shutil.ignore_patterns(".venv", ".git", ".headrace", "__pycache__", ".*_cache")
_RED = 1
"""pytest's exit code if tests have failed; 2 and above are other troubles, such as a test that is not there."""


@dataclass(frozen=True)
class Mutation:
    """A text of a file that another one takes the place of, and the test that must fail then."""

    name: str
    file: str
    old: str
    new: str
    test: str
    times: int = 1

    def applied(self, text: str) -> str:
        """The mutated file; ValueError if what is to be replaced does not stand there as often as it says."""
        if text.count(self.old) != self.times:
            raise ValueError(f"{self.name}: {self.file} has its text {text.count(self.old)} times, not {self.times}")
        return text.replace(self.old, self.new)


def mutations() -> tuple[Mutation, ...]:
    """All of the list."""
    found = YAML(typ="safe").load(Path(__file__).with_suffix(".yml"))
    return tuple(
        Mutation(each["name"], each["file"], each["from"], each["to"], each["test"], each.get("times", 1))
        for each in found
    )


def survivors(chosen: list[Mutation]) -> Iterator[Mutation]:
    """Those that no test notices."""
    with TemporaryDirectory(prefix="mutations-") as folder:
        copy = Path(folder) / "project"
        shutil.copytree(
            ROOT, copy, ignore=shutil.ignore_patterns(".venv", ".git", ".headrace", "__pycache__", ".*_cache")
        )
        for mutation in chosen:
            started = time.monotonic()
            is_noticed = _is_noticed(mutation, copy)
            verdict = "noticed " if is_noticed else "SURVIVES"
            print(f"{verdict} {time.monotonic() - started:5.0f} s  {mutation.name}: {mutation.test}", flush=True)
            if not is_noticed:
                yield mutation


def _is_noticed(mutation: Mutation, copy: Path) -> bool:
    file = copy / mutation.file
    text = file.read_text("utf-8")
    file.write_text(mutation.applied(text), "utf-8")
    try:
        command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-n", "0", "-m", "long or not long", mutation.test]
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True)
    finally:
        file.write_text(text, "utf-8")
    if done.returncode not in (0, _RED):
        raise RuntimeError(f"{mutation.test} does not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == _RED


def main(words: list[str]) -> int:
    chosen = [each for each in mutations() if all(word in each.name for word in words)]
    left = [*survivors(chosen)]
    print(f"{len(chosen) - len(left)} of {len(chosen)} are noticed")
    return bool(left)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The domains of the demo, each as a project of its own, so that an edit of one is judged and tried by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOMAINS = ("shipping", "sales", "calls", "clicks", "shop")
MANIFEST = "manifest.yml"


@cache
def files(domain: str) -> Mapping[str, str]:
    """The texts of a domain by path: its models and sources, and what all domains share."""
    seeds = ROOT.glob("sql/bronze/*.csv") if domain == "shop" else ()
    paths = [
        *sorted(ROOT.glob(f"sql/*/{domain}/*.sql")),
        *sorted(ROOT.glob("macros/*.sql")),
        ROOT / f"sql/bronze/{domain}.yml",
        *seeds,
        ROOT / "conf/test.yml",
        ROOT / MANIFEST,
    ]
    found = {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths}
    others = "|".join(name for name in DOMAINS if name != domain)
    return {**found, MANIFEST: re.sub(rf"(?m)^  ({others}): .*\n", "", found[MANIFEST])}

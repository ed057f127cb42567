"""What a model's header allows with a reason: `allow: {<code>: <reason>}`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.errors import Finding
from headrace.project.flows.draft import Draft


def applied(findings: Sequence[Finding], draft: Draft) -> list[Finding]:
    """Leave out what headers allow; an allowance that allows nothing is a finding itself."""
    allowed = {(model.path, code) for model in draft.models.values() for code in model.allow}
    remaining = [finding for finding in findings if (finding.place.path, finding.code) not in allowed]
    return [*remaining, *_needless(findings, draft)]


def _needless(findings: Sequence[Finding], draft: Draft) -> Iterator[Finding]:
    found = {(finding.place.path, finding.code) for finding in findings}
    for model in draft.models.values():
        for code in model.allow:
            if (model.path, code) not in found:
                place = draft.place(model, f"allow.{code}")
                yield Finding(place, "needless-allow", f"nothing in this model is `{code}`; take the line out")

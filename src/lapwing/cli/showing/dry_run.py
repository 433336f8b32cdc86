"""What `lapwing release --dry-run` says: the errors that an answer would have."""

from __future__ import annotations

from typing import Any

from lapwing.cli.console import Output, facts, grid
from lapwing.planning.error_prediction import expected_error
from lapwing.planning.reference_columns import KINDS
from lapwing.protocol.domains.domain import Domain
from lapwing.results.answer_text import count_text, percent
from lapwing.survey.publication import PlannedRelease


def show_expected_error(
    out: Output, domain: Domain, planned: PlannedRelease, users: int, *, note: str
) -> None:
    """Print the expected errors of a release that is not made, and how its bins were chosen."""
    if not domain.ordered:
        _show_labels(out, domain, planned, users)
        return
    promise, mechanism, guarantee = planned.promise, planned.mechanism, planned.guarantee
    found = expected_error(
        domain,
        users,
        neighbors=promise.neighbors,
        epsilon=promise.epsilon,
        delta=promise.delta,
        mu=promise.mu,
        rho=promise.rho,
        mechanism=mechanism,
    )
    document: dict[str, Any] = {
        "command": "release",
        "dry_run": True,
        "guarantee": guarantee.to_document(),
        "expected_error": found.to_document(),
    }
    rows = {
        "mechanism": mechanism.name,
        "people": count_text(users),
        "privacy guarantee": str(guarantee),
    }
    rows["noise in a share"] = (
        "not known before: it depends on what is asked"
        if found.deviation is None
        else f"{found.deviation:.3g} (root mean square), at most {found.largest_deviation:.3g}"
    )
    if note:
        document["note"] = rows["bins"] = note
    rows["released"] = "nothing: this was a dry run"
    parts = {
        "noise alone": found.noise,
        "sampling alone": found.sampling,
        "noise and sampling, before smoothing": found.together,
    }
    parts |= {f"the answer, {kind} column": found["kolmogorov_smirnov"].of(kind) for kind in KINDS}
    body = [[name, "-" if value is None else f"{value:.3g}"] for name, value in parts.items()]
    title = "Expected largest error of the CDF at the edges of the bins"
    out.show(document, grid(title, ["part", "share"], body), facts(rows))


def _show_labels(out: Output, domain: Domain, planned: PlannedRelease, users: int) -> None:
    promise, guarantee = planned.promise, planned.guarantee
    found = expected_error(
        domain,
        users,
        neighbors=promise.neighbors,
        epsilon=promise.epsilon,
        delta=promise.delta,
        mu=promise.mu,
        rho=promise.rho,
        mechanism=planned.mechanism,
    )
    document = {
        "command": "release",
        "dry_run": True,
        "guarantee": guarantee.to_document(),
        "expected_error": found.to_document(),
    }
    rows = {
        "mechanism": planned.mechanism.name,
        "people": count_text(users),
        "privacy guarantee": str(guarantee),
        "one share, at 95 %": f"within {percent(found.margin or 0.0)} of that of the people",
        "all shares at once": f"within {percent(found.simultaneous_margin or 0.0)}",
        "released": "nothing: this was a dry run",
    }
    out.show(document, facts(rows))

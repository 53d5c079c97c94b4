"""The runs of an execution as its page shows them: those of one reason together, blocking ones first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Any

Run = Mapping[str, Any]
Reason = Mapping[str, Any]

# Runs of a reason that are shown before the others are opened.
SHOWN = 5
# How the standings of groups are called, and their badges.
_NAMES = {
    "no_verdict": ("no verdict", "no-verdict"),
    "retried": ("passed after a retry", "flaky"),
    "waiting": ("waiting", "queued"),
}
_REASONED = ("failed", "no_verdict")


@dataclass(frozen=True, slots=True)
class ShownGroup:
    """A group of ListRuns with those of its runs that are on the page, the blocking ones first.

    `message` is what the first of them said; `place` is where the step is written, if that is the same for all.
    `known_as` is a reason of the gate that names their group of failures on the app, if there is one. `elsewhere` are
    those of its runs on other pages that the gate names. `blocking` counts the runs of all pages, as `total` does.
    """

    id: str
    name: str
    badge: str
    total: int
    category: str
    is_reasoned: bool
    runs: Sequence[Run]
    blocking: int
    message: str
    place: Mapping[str, Any] | None
    known_as: Reason | None
    elsewhere: frozenset[str] = frozenset()

    @property
    def shown(self) -> Sequence[Run]:
        return self.runs[:SHOWN] if self.is_reasoned else self.runs

    @property
    def others(self) -> Sequence[Run]:
        return self.runs[SHOWN:] if self.is_reasoned else ()


def shown_groups(page: Mapping[str, Any], reasons: Mapping[str, Reason]) -> list[ShownGroup]:
    """The groups of a page of ListRuns; `reasons` are those of the gate by the ids of runs."""
    runs = iter(page["items"])
    return [_shown(group, list(islice(runs, group["on_page"])), reasons) for group in page.get("groups") or ()]


def reasons_elsewhere(groups: Sequence[ShownGroup], reasons: Mapping[str, Reason]) -> Sequence[Reason]:
    """The gate's reasons that no group of the page speaks for: of runs on other pages that failed in another way."""
    said = {run["id"] for group in groups for run in group.runs}.union(*(group.elsewhere for group in groups))
    return [each for run_id, each in reasons.items() if run_id not in said]


def _elsewhere(group: Mapping[str, Any], runs: Sequence[Run], reasons: Mapping[str, Reason]) -> frozenset[str]:
    """The runs of the group on other pages. Their fingerprint tells them, but runs of other groups can have it, too,
    because it leaves out more of their reasons: if more have it than are missing, it is not known which ones they are.
    """
    here = {run["id"] for run in runs}
    alike = _fingerprints(here, reasons)
    found = frozenset(run_id for run_id, each in reasons.items() if run_id not in here and _fingerprint(each) in alike)
    return found if len(found) <= group["total"] - len(runs) else frozenset()


def _fingerprints(run_ids: Iterable[str], reasons: Mapping[str, Reason]) -> set[tuple[str, str]]:
    found = (_fingerprint(reasons[run_id]) for run_id in run_ids if run_id in reasons)
    return {fingerprint for fingerprint in found if fingerprint}


def _fingerprint(reason: Reason) -> tuple[str, str] | None:
    """By which a failure is known on all pages: its app, and its fingerprint there."""
    app_id, fingerprint = reason.get("app_id"), reason.get("failure_fingerprint")
    return (app_id, fingerprint) if app_id and fingerprint else None


def _shown(group: Mapping[str, Any], runs: Sequence[Run], reasons: Mapping[str, Reason]) -> ShownGroup:
    blocking = [run for run in runs if (reasons.get(run["id"]) or {}).get("blocks")]
    marked = {run["id"] for run in blocking}
    in_order = [*blocking, *(run for run in runs if run["id"] not in marked)]
    is_reasoned = group["standing"] in _REASONED
    elsewhere = _elsewhere(group, runs, reasons)
    failures = [run["failure"] or {} for run in in_order] if is_reasoned else []
    places = [failure.get("position") for failure in failures]
    name, badge = _NAMES.get(group["standing"], (group["standing"], group["standing"]))
    key = f"{group['standing']} {group['category']} {group['reason']}"
    return ShownGroup(
        id=f"group-{sha256(key.encode()).hexdigest()[:12]}",
        name=name,
        badge=badge,
        total=group["total"],
        category=(group["category"] or "").replace("_", " "),
        is_reasoned=is_reasoned,
        runs=in_order,
        blocking=len(blocking) + sum(reasons[run_id]["blocks"] for run_id in elsewhere),
        message=(failures[0].get("message") or failures[0].get("reason") or "") if failures else "",
        known_as=_known_as([reasons[run["id"]] for run in in_order if run["id"] in reasons]),
        elsewhere=elsewhere,
        place=places[0] if places and all(place == places[0] for place in places) else None,
    )


def _known_as(reasons: Sequence[Reason]) -> Reason | None:
    named = (reason for reason in reasons if reason.get("failure_fingerprint") and reason["app_id"])
    return next(named, None)

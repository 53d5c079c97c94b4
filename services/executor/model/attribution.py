"""Where an execution came from: its source, and the CI attribution of the change under test."""

import re
from dataclasses import dataclass
from enum import StrEnum


class ExecutionSource(StrEnum):
    """Where a start came from: the first that applies, in this order."""

    RERUN = "rerun"
    SCHEDULE = "schedule"
    CI = "ci"
    CLI = "cli"
    UI = "ui"
    INTERNAL = "internal"
    API = "api"


@dataclass(frozen=True, slots=True)
class Ci:
    """The X-CI headers of a start; None for an absent header."""

    system: str | None = None
    commit_sha: str | None = None
    branch: str | None = None
    pr_number: int | None = None
    run_url: str | None = None
    run_id: str | None = None
    repository: str | None = None

    def __bool__(self) -> bool:
        return self != Ci()


@dataclass(frozen=True, slots=True)
class Origin:
    """What determines the source of a start."""

    ci: Ci = Ci()
    service_client: str | None = None
    via_gateway: bool = True
    rerun_of: str | None = None
    scheduled: bool = False


_UI_WORDS = frozenset({"ui", "dashboard", "web"})


def source_of(origin: Origin) -> ExecutionSource:
    """The first source that applies."""
    client = set(re.findall(r"[a-z]+", (origin.service_client or "").lower()))
    rules = (
        (ExecutionSource.RERUN, origin.rerun_of is not None),
        (ExecutionSource.SCHEDULE, origin.scheduled),
        (ExecutionSource.CI, bool(origin.ci)),
        (ExecutionSource.CLI, "cli" in client),
        (ExecutionSource.UI, not client.isdisjoint(_UI_WORDS)),
        (ExecutionSource.INTERNAL, not origin.via_gateway),
    )
    return next((source for source, fits in rules if fits), ExecutionSource.API)

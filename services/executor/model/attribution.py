"""Where an execution came from: its source, and the CI attribution of the change under test."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum


class ExecutionSource(StrEnum):
    """Where a start came from: the first that applies, in this order. SCHEDULE is reserved."""

    RERUN = "rerun"
    SCHEDULE = "schedule"
    CI = "ci"
    CLI = "cli"
    UI = "ui"
    INTERNAL = "internal"
    API = "api"


@dataclass(frozen=True, slots=True)
class Ci:
    """The X-CI headers of a start; None for an absent header. A base branch alone says nothing of a change."""

    system: str | None = None
    commit_sha: str | None = None
    branch: str | None = None
    pr_number: int | None = None
    run_url: str | None = None
    run_id: str | None = None
    repository: str | None = None
    base_branch: str | None = None

    def __bool__(self) -> bool:
        return replace(self, base_branch=None) != Ci()


def is_run_url(text: str) -> bool:
    """Whether the text can be shown as a link to a CI run: empty, or an http or https URL."""
    return not text or re.fullmatch(r"(?ai:https?)://[^\x00-\x20\x7f/]\S*", text) is not None


_UI_WORDS = frozenset({"ui", "dashboard", "web"})


def source_of(ci: Ci, service_client: str | None, *, via_gateway: bool) -> ExecutionSource:
    """The source of a new start; that of a rerun is RERUN."""
    client = set(re.findall(r"[a-z]+", (service_client or "").lower()))
    if ci:
        return ExecutionSource.CI
    if "cli" in client:
        return ExecutionSource.CLI
    if client & _UI_WORDS:
        return ExecutionSource.UI
    return ExecutionSource.API if via_gateway else ExecutionSource.INTERNAL

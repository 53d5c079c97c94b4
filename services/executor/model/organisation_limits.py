"""What an organisation may use of runs and language models."""

from dataclasses import dataclass
from datetime import date

from mobiletest_automation.model.run_config import Screens


@dataclass(frozen=True, slots=True)
class OrganisationLimits:
    """The limits that the executor enforces; None is unlimited, no models allow any, no hosts none.

    The protos describe each.
    """

    queued_runs: int | None = None
    concurrent_runs: int | None = None
    model_calls_per_day: int | None = None
    model_tokens_per_day: int | None = None
    allowed_models: tuple[str, ...] = ()
    script_hosts: tuple[str, ...] = ()
    baseline_bytes: int | None = None
    evidence_bytes: int | None = None
    runs_per_day: int | None = None
    stored_runs: int | None = None
    screen_bytes: int | None = None
    screens: Screens = Screens.ALL


UNLIMITED = OrganisationLimits()


@dataclass(frozen=True, slots=True)
class StartedRuns:
    """Runs of an organisation: those that were started today (UTC), and all that are stored.

    One with a large plan counts as several (`RunPlan.counts_as`).
    """

    today: int = 0
    stored: int = 0


@dataclass(frozen=True, slots=True)
class ModelUse:
    """Calls and tokens of language models."""

    calls: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class ModelDay:
    """The account of an organisation for one day (UTC)."""

    org_id: str
    day: date

"""What an organisation may use."""

from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class OrganisationLimits:
    """The limits of one organisation; None, or an empty list, is the default of the service that enforces the limit.

    The protos describe each field.
    """

    requests_per_second: int | None = None
    request_burst: int | None = None
    key_requests_per_second: int | None = None
    key_request_burst: int | None = None
    uploads: int | None = None
    streams: int | None = None
    artifact_bytes: int | None = None
    api_keys: int | None = None
    queued_runs: int | None = None
    concurrent_runs: int | None = None
    model_calls_per_day: int | None = None
    model_tokens_per_day: int | None = None
    allowed_models: tuple[str, ...] = ()
    script_hosts: tuple[str, ...] = ()
    baseline_bytes: int | None = None
    apps: int | None = None
    tests: int | None = None
    workflows: int | None = None
    builds: int | None = None
    test_bytes: int | None = None
    evidence_bytes: int | None = None
    runs_per_day: int | None = None
    stored_runs: int | None = None
    screen_bytes: int | None = None
    screens: str | None = None

    def over(self, defaults: "OrganisationLimits") -> "OrganisationLimits":
        """These limits, and the defaults for those that are not set."""
        return replace(defaults, **self.as_set())

    def as_set(self) -> dict[str, Any]:
        """Those that are set, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value not in (None, ())}


@dataclass(frozen=True, slots=True)
class LimitUse:
    """A limit by its name, and how much of it is used."""

    name: str
    limit: int
    used: int


@dataclass(frozen=True, slots=True)
class ArtifactBytes:
    """Bytes of an organisation's artifacts.

    `used`: of those that builds use, and of uploads under way. `stored`: also of those that no build uses any more,
    which are removed a day later.
    """

    used: int
    stored: int

"""What reports are composed from."""

from dataclasses import dataclass, field

from services.chassis.clock import Clock
from services.reporting.ports import CatalogTests, ReadModels, Verdicts
from services.reporting.usecases.report_turns import ReportTurns


@dataclass(frozen=True, slots=True)
class ReportSources:
    """The read models, whose turn it is to read them, and how long a report waits for what they do not have yet.

    `revision_wait` and `ended_wait` are seconds: for the revision of an app, and for the ended runs of an execution.
    """

    read_models: ReadModels
    tests: CatalogTests
    verdicts: Verdicts
    clock: Clock
    turns: ReportTurns = field(default_factory=ReportTurns)
    revision_wait: float = 2.0
    ended_wait: float = 5.0

"""One async method per behaviour: applying events, and computing reports."""

from services.reporting.usecases.apps import AppReports
from services.reporting.usecases.classified_tests import ClassifiedQuery, ClassifiedTests, Quarantines
from services.reporting.usecases.compare import Comparisons
from services.reporting.usecases.gate import Gates
from services.reporting.usecases.projector import Projector
from services.reporting.usecases.retention import RetentionSweeper
from services.reporting.usecases.run_lists import RunLists, RunsPage

__all__ = [
    "AppReports",
    "ClassifiedQuery",
    "ClassifiedTests",
    "Comparisons",
    "Gates",
    "Projector",
    "Quarantines",
    "RetentionSweeper",
    "RunLists",
    "RunsPage",
]

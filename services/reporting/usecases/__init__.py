"""One async method per behaviour: folding events, and answering with reports."""

from services.reporting.usecases.apps import AppReports
from services.reporting.usecases.compare import Comparisons
from services.reporting.usecases.expiring import Expiring
from services.reporting.usecases.folding import Folding
from services.reporting.usecases.gate import Gates
from services.reporting.usecases.runs import RunLists, RunsPage
from services.reporting.usecases.tests import ClassifiedQuery, ClassifiedTests, Quarantines

__all__ = [
    "AppReports",
    "ClassifiedQuery",
    "ClassifiedTests",
    "Comparisons",
    "Expiring",
    "Folding",
    "Gates",
    "Quarantines",
    "RunLists",
    "RunsPage",
]

"""One async method per behaviour: folding events, and answering with reports."""

from services.reporting.usecases.apps import AppReports
from services.reporting.usecases.folding import Folding
from services.reporting.usecases.runs import RunLists, RunsPage
from services.reporting.usecases.tests import ClassifiedQuery, ClassifiedTests, Quarantines

__all__ = ["AppReports", "ClassifiedQuery", "ClassifiedTests", "Folding", "Quarantines", "RunLists", "RunsPage"]

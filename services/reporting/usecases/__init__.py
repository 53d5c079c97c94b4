"""One async method per behaviour: folding events, and answering with reports."""

from services.reporting.usecases.apps import AppReports
from services.reporting.usecases.folding import Folding
from services.reporting.usecases.runs import RunLists, RunsPage

__all__ = ["AppReports", "Folding", "RunLists", "RunsPage"]

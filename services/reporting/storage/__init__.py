"""The read models in MongoDB: documents, transactions, lookups and indexes."""

from services.reporting.storage.catalog_tests import MongoCatalogTests
from services.reporting.storage.expirable_runs import MongoExpirableRuns
from services.reporting.storage.projections import MongoProjections
from services.reporting.storage.read_models import MongoReadModels
from services.reporting.storage.schema import MIGRATIONS
from services.reporting.storage.verdicts import MongoVerdicts

__all__ = [
    "MIGRATIONS",
    "MongoCatalogTests",
    "MongoExpirableRuns",
    "MongoProjections",
    "MongoReadModels",
    "MongoVerdicts",
]

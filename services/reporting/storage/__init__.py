"""The read models in MongoDB: rows as documents, the fold's transaction, lookups, indexes."""

from services.reporting.storage.folds import MongoFolds
from services.reporting.storage.listed import MongoListed
from services.reporting.storage.lookups import MongoReadModels
from services.reporting.storage.schema import MIGRATIONS
from services.reporting.storage.tests import MongoCopiedTests
from services.reporting.storage.verdicts import MongoVerdicts

__all__ = ["MIGRATIONS", "MongoCopiedTests", "MongoFolds", "MongoListed", "MongoReadModels", "MongoVerdicts"]

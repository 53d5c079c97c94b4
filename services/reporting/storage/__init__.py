"""The read models in MongoDB: rows as documents, the fold's transaction, lookups, indexes."""

from services.reporting.storage.folds import MongoFolds
from services.reporting.storage.lookups import MongoReadModels
from services.reporting.storage.schema import MIGRATIONS

__all__ = ["MIGRATIONS", "MongoFolds", "MongoReadModels"]

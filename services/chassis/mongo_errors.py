"""Errors of MongoDB's driver as domain errors, also in processes that do not use the driver and never load it."""

import sys
from typing import Any

from services.chassis.errors import Unavailable

RETRY_AFTER_SECONDS = 1.0
# SnapshotTooOld and SnapshotUnavailable: a retry reads from a newer snapshot.
_SNAPSHOT_GONE = (239, 246)
_LABELS = ("TransientTransactionError", "UnknownTransactionCommitResult", "RetryableWriteError")


class DuplicateValue(Exception):
    """An id, or another value that must be unique, is in use."""


def as_unavailable(error: BaseException) -> Unavailable | None:
    """A transient error of the driver as Unavailable (503, retry after 1 s); None for any other error."""
    return database_unavailable() if _is_transient(error) else None


def database_unavailable() -> Unavailable:
    message = "The database is not available, try again"
    return Unavailable(message, reason="DATABASE_UNAVAILABLE", retry_after=RETRY_AFTER_SECONDS)


def is_unencodable(error: BaseException) -> bool:
    """Whether a document has a value that MongoDB cannot store."""
    bson: Any = sys.modules.get("bson.errors")
    return bson is not None and isinstance(error, bson.InvalidDocument)


def _is_transient(error: BaseException) -> bool:
    """An error cannot come from a driver that was not loaded, which is 13 MiB."""
    driver: Any = sys.modules.get("pymongo.errors")
    if driver is None:
        return False
    lost = (driver.ConnectionFailure, driver.WaitQueueTimeoutError, driver.ExecutionTimeout, driver.WTimeoutError)
    if isinstance(error, lost):
        return True
    if not isinstance(error, driver.OperationFailure):
        return False
    return error.code in _SNAPSHOT_GONE or any(error.has_error_label(label) for label in _LABELS)

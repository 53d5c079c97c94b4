"""The indexes of a generation. They lead with the organisation, as every lookup does."""

from typing import Any

from pymongo import ASCENDING, DESCENDING, IndexModel

_LISTED = {"listed_at": {"$exists": True}}
"""Runs that expired are in no list and in no index of one."""
_DECIDED = {"verdict.outcome": {"$exists": True}}
"""Cells with a verdict."""


def _index(name: str, *fields: str, **options: Any) -> IndexModel:
    """An index over these fields after the organisation; a field with a minus before it is descending."""
    keys = [(field.lstrip("-"), DESCENDING if field.startswith("-") else ASCENDING) for field in ("org_id", *fields)]
    return IndexModel(keys, name=name, **options)


INDEXES = {
    "runs": [
        _index("list_of_build", "build_id", "-listed_at", "-_id", partialFilterExpression=_LISTED),
        _index("list_of_test", "test_id", "-listed_at", "-_id", partialFilterExpression=_LISTED),
        _index("of_execution", "execution_id"),
    ],
    "builds": [
        _index("list_of_app", "app_id", "deleted", "-uploaded_at", "-_id"),
        _index("version_of_app", "app_id", "version", "deleted"),
    ],
    "attachments": [_index("of_app", "app_id", "attached")],
    "tests": [_index("list", "deleted", "-created_at", "-_id")],
    "histories": [_index("tests_of_class", "classification", "test_id")],
    "cells": [
        _index("verdicts_of_build", "app_id", "build_id", "test_id", "verdict.outcome"),
        _index(
            "verdicts_of_test",
            *("app_id", "test_id", "named.branch", "verdict.outcome", "-uploaded_at", "-build_id"),
            partialFilterExpression=_DECIDED,
        ),
    ],
}

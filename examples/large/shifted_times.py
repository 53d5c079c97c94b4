"""Moves times in documents, whatever these are."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any


def shifted(value: Any, by: timedelta) -> Any:
    """The value with every time in it so much earlier."""
    if isinstance(value, datetime):
        return value - by
    if isinstance(value, dict):
        return {key: shifted(each, by) for key, each in value.items()}
    if isinstance(value, list):
        return [shifted(each, by) for each in value]
    return value


def shifted_run(run: Mapping[str, Any], by: timedelta, uploads: Mapping[str, datetime]) -> dict[str, Any]:
    """The run, so much earlier, on a build that was uploaded when `uploads` (by build id) says."""
    document: dict[str, Any] = shifted(dict(run), by)
    target = document["target"]
    if (uploaded_at := uploads.get(target.get("build_id", ""))) is not None:
        document["target"] = {**target, "build_uploaded_at": uploaded_at}
    return document

"""The filters of the list of executions as they stand in the address of its page: days stand for moments."""

import re
from collections.abc import Mapping
from datetime import date, timedelta

from services.gateway.dashboard import run_results

FILTERS = (
    "name",
    "branch",
    "commit_sha",
    "result",
    "app_id",
    "pr_number",
    "ci_run_id",
    "started_by",
    "created_after",
    "created_before",
    "sort",
    "status",
    "source",
    "workflow_id",
    "rerun_of",
    "superseded_by",
    "exact",
)
# Those that the form shows at once.
USUAL = ("name", "branch", "commit_sha", "app_id", "result", "sort")
RESULTS = (*run_results.RESULTS, "running")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


def read_filters(query: Mapping[str, str]) -> dict[str, str]:
    """The filters of an address that are not empty, without white space around them."""
    return {name: text for name in FILTERS if (text := query.get(name, "").strip())}


def to_parameters(filters: Mapping[str, str]) -> dict[str, str]:
    """As parameters of ListExecutions: a day begins the time after it, and ends that before it, both in UTC."""
    return {name: _moment(name, text) if name.startswith("created_") else text for name, text in filters.items()}


def _moment(name: str, text: str) -> str:
    if not _DAY.fullmatch(text):
        return text
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return text
    if name == "created_before":
        day = min(day, date.max - timedelta(days=1)) + timedelta(days=1)
    return f"{day.isoformat()}T00:00:00Z"

"""Queries of the services without an index, which MongoDB's profiler writes down in the stack that tests share."""

import re
from collections.abc import Iterator
from typing import Any

from pymongo import MongoClient

DATABASES = ("catalog", "executor", "reporting")
_SORTS = {"hasSortStage": True, "docsExamined": {"$gte": 50}}  # for fewer, MongoDB takes an index or sorts, as it likes
# Operations of the services that read a whole collection, or that sort many documents in memory.
_SCANS = {"appName": "mobiletest", "$or": [{"planSummary": {"$regex": "COLLSCAN"}}, _SORTS]}
ALLOWED = {
    r"\w+\._migrations COLLSCAN .*": "a document for each migration, read at the start",
    r"\w+\._outbox COLLSCAN \{'filter': \{\}.*": "republishing reads the whole outbox",
    r"\w+\._outbox COLLSCAN .*\$match': \{\}.*'\$size'.*": "republishing counts the whole outbox",
    r"executor\.baselines IXSCAN .*'sort': \{'key': 1\}.*": "a test has a limited number of baselines",
    r"reporting\.cells\S* IXSCAN \{ _id: 1 \} .*": "the planner may sort the few cells that a lookup finds",
    r"\S+ IXSCAN .*'(_id|test_id)': \{'\$in': \[.*": "the planner may sort what a list of ids finds",
    r".*'noticed': True.*": "the test of this check makes it",
}

Client = MongoClient[dict[str, Any]]


def profile(client: Client) -> None:
    """Write down queries without an index from now on."""
    for name in DATABASES:
        client[name].command({"profile": 1, "filter": _SCANS})


class QueryPlans:
    """What was written down since the last look."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._seen: dict[str, Any] = {}

    def unexpected(self) -> list[str]:
        """The new operations without an index that are not allowed, each once."""
        return sorted({row[:400] for row in self.rows() if not any(re.fullmatch(pattern, row) for pattern in ALLOWED)})

    def rows(self) -> Iterator[str]:
        """The new operations without an index."""
        for name in DATABASES:
            newer = {"ts": {"$gt": self._seen[name]}} if name in self._seen else {}
            for row in self._client[name]["system.profile"].find(newer):
                self._seen[name] = row["ts"]
                command = row.get("originatingCommand") or row["command"]
                if "$changeStream" not in str(command):
                    yield f"{row['ns']} {row['planSummary']} {_shape(command)}"


def _shape(command: dict[str, Any]) -> str:
    shown = {name: command[name] for name in ("q", "filter", "query", "pipeline", "sort") if name in command}
    return f"{shown}"

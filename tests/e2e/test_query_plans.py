"""No query of the service is without an index: MongoDB's profiler watches a whole stack from its start to its stop."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from pymongo import AsyncMongoClient

from deploy.local.mongod import mongod
from deploy.local.stack import Stack, run_stack
from tests.e2e.client import Api, created
from tests.e2e.world import UNKNOWN, World
from tests.reference.recording import record_examples
from tests.shared_infrastructure import SharedStack

SERVICES = ("catalog", "executor", "reporting")
SCANS = {"$or": [{"planSummary": {"$regex": "COLLSCAN"}}, {"hasSortStage": True}]}
"""What the profiler writes down: operations that read a whole collection, or that sort in memory."""
ALLOWED = {
    r"\w+\._migrations COLLSCAN .*": "a document for each migration, read at the start",
    r"catalog\.(apps|tests) COLLSCAN \{'q': .*exists.*": "a migration, which runs once",
    r"\w+\._outbox COLLSCAN \{'filter': \{\}.*": "republishing reads the whole outbox",
    r"\w+\._outbox COLLSCAN .*\$match': \{\}.*'\$size'.*": "republishing counts the whole outbox",
    r"executor\.baselines IXSCAN .*'sort': \{'key': 1\}.*": "a test has a limited number of baselines",
}

LISTS: dict[str, list[dict[str, Any]]] = {
    "/apps": [{}, {"platform": "iOS"}, {"search": "a"}, {"search": "shop", "platform": "Android"}, {"page": 3}],
    "/tests": [
        {},
        {"search": "o"},
        {"search": "login"},
        {"platform": "iOS"},
        {"tag": "smoke"},
        {"classification": "stable"},
        {"classification": "insufficient_data", "platform": "iOS", "search": "login", "tag": "smoke"},
        {"quarantined": "true"},
    ],
    "/workflows": [{}, {"search": "a"}, {"search": "nightly"}],
    "/executions": [
        {},
        {"status": "completed"},
        {"workflow_id": UNKNOWN},
        {"app_id": UNKNOWN},
        {"source": "api"},
        {"branch": "main"},
        {"commit_sha": "4f2c1d9"},
        {"pr_number": 7},
        {"status": "failed", "branch": "main", "source": "api"},
        {"status": "queued", "workflow_id": UNKNOWN, "app_id": UNKNOWN, "pr_number": 7},
    ],
}


Profiled: TypeAlias = tuple[AsyncMongoClient[dict[str, Any]], Stack]


@pytest.fixture
async def profiled(tmp_path: Path) -> AsyncIterator[Profiled]:
    """A stack on a mongod that profiles it, from before its databases exist."""
    async with mongod(tmp_path / "mongod") as server:
        client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(server.uri)
        for name in SERVICES:
            await client[name].command({"profile": 1, "filter": SCANS})
        async with run_stack(tmp_path / "stack", mongo_uri=server.uri) as stack:
            yield client, stack
        await client.close()


async def without_index(client: AsyncMongoClient[dict[str, Any]]) -> set[str]:
    """The operations without an index, each once."""
    rows = set()
    for name in SERVICES:
        async for row in client[name]["system.profile"].find({}):
            command = row.get("originatingCommand") or row["command"]
            if "$changeStream" not in str(command):
                rows.add(f"{row['ns']} {row['planSummary']} {_shape(command)}")
    return rows


def _shape(command: dict[str, Any]) -> str:
    said = {name: command[name] for name in ("q", "filter", "query", "pipeline", "sort") if name in command}
    return f"{said}"[:300]


async def ask_all_lists(api: Api) -> None:
    for path, queries in LISTS.items():
        for query in queries:
            created(await api.get(path, params=query))


def unexpected(rows: set[str]) -> list[str]:
    return sorted(row for row in rows if not any(re.fullmatch(pattern, row) for pattern in ALLOWED))


@pytest.mark.timeout(300)
async def test_no_query_is_without_an_index(profiled: Profiled) -> None:
    """Every operation is called once, each list with each filter, while the background loops run; at the end the
    test makes one without an index, which the profiler has to notice."""
    client, stack = profiled
    await record_examples(SharedStack(**{name: getattr(stack, name) for name in SharedStack.__dataclass_fields__}))
    async with Api(stack.url, stack.api_key) as api:
        await World(api).passing_app()
        await ask_all_lists(api)
        assert unexpected(await without_index(client)) == []
        await client["executor"]["executions"].find_one({"unknown": 1})
        assert any(row.startswith("executor.executions ") for row in unexpected(await without_index(client)))

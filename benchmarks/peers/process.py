"""Starts the peer on documents equal to ours and stops it."""

import asyncio
import hashlib
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import aiohttp
from pymongo import AsyncMongoClient

from benchmarks.load import Target
from benchmarks.seed import Seed
from deploy.local.child import die_with_parent
from deploy.local.ports import Ports

DATABASE = "benchmark_peer"
STATS = ("recent_executions", "rolling_pass_rate", "attribution_ready")
_START_SECONDS = 30


@asynccontextmanager
async def running(mongo_uri: str, seed: Seed, api_key: str) -> AsyncIterator[Target]:
    """The peer, serving what `seed` describes."""
    async with AsyncMongoClient[dict[str, Any]](mongo_uri) as client:
        await client.drop_database(DATABASE)
        await _fill(client[DATABASE], seed, api_key)
    with Ports() as ports:
        port = ports.take()
    env = {**os.environ, "PEER_MONGO_URI": mongo_uri, "PEER_DATABASE": DATABASE}
    argv = [
        "-m",
        "uvicorn",
        "benchmarks.peers.monolith:app",
        "--port",
        str(port),
        "--no-access-log",
        "--log-level",
        "error",
    ]
    process = await asyncio.create_subprocess_exec(sys.executable, *argv, env=env, preexec_fn=die_with_parent())
    try:
        target = Target(f"http://127.0.0.1:{port}", api_key)
        await _ready(target)
        yield target
    finally:
        process.terminate()
        await process.wait()


async def _fill(db: Any, seed: Seed, api_key: str) -> None:
    """Put the same apps, stats, counts, workflow, test, build and key there, with the indexes that ours has."""
    org_id = seed.apps[0]["org_id"]
    for written in ("executions", "runs", "outbox"):
        await db.create_collection(written)
    await db.apps.create_index([("org_id", 1), ("created_at", -1), ("_id", -1)])
    await db.apps.insert_many([_document(app) for app in seed.apps])
    await db.stats.insert_many(
        [{"_id": app["id"], "org_id": org_id, "fields": {name: app[name] for name in STATS}} for app in seed.apps]
    )
    ios = sum(app["platform"] == "iOS" for app in seed.apps)
    counts = {"_id": org_id, "total": len(seed.apps), "ios": ios, "android": len(seed.apps) - ios}
    await db.counts.insert_one(counts)
    await db.keys.insert_one({"_id": hashlib.sha256(api_key.encode()).hexdigest(), "org_id": org_id})
    await db.tests.insert_one(seed.test | {"_id": seed.test["id"]})
    await db.builds.insert_one(seed.build | {"_id": seed.build["id"], "org_id": org_id})
    await db.workflows.insert_one(seed.workflow | {"_id": seed.workflow["id"], "app_id": seed.build["app_id"]})


def _document(app: dict[str, Any]) -> dict[str, Any]:
    fields = {name: value for name, value in app.items() if name not in ("id", *STATS)}
    return {"_id": app["id"]} | fields | {"created_at": datetime.fromisoformat(app["created_at"])}


async def _ready(target: Target) -> None:
    async with asyncio.timeout(_START_SECONDS), aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Bearer {target.api_key}"}
        while True:
            try:
                async with session.get(f"{target.url}/api/v1/apps/", headers=headers) as answer:
                    answer.raise_for_status()
                    return
            except aiohttp.ClientConnectionError:
                await asyncio.sleep(0.05)

"""Fills the database of the peers with documents equal to ours."""

import hashlib
from datetime import datetime
from typing import Any

from pymongo import AsyncMongoClient

from benchmarks.seed import Seed

DATABASE = "benchmark_peer"
STATS = ("recent_executions", "rolling_pass_rate", "attribution_ready")


async def fill(mongo_uri: str, seed: Seed, api_key: str) -> None:
    """Put the same apps, stats, counts, workflows, tests, builds and key there, with the indexes that ours has."""
    async with AsyncMongoClient[dict[str, Any]](mongo_uri) as client:
        await client.drop_database(DATABASE)
        db, org_id = client[DATABASE], seed.apps[0]["org_id"]
        for written in ("executions", "runs", "outbox"):
            await db.create_collection(written)
        await _fill_apps(db, seed, org_id)
        await db.keys.insert_one({"_id": hashlib.sha256(api_key.encode()).hexdigest(), "org_id": org_id})
        await db.tests.insert_many([test | {"_id": test["id"]} for test in seed.tests])
        await db.builds.create_index([("org_id", 1), ("app_id", 1)])
        await db.builds.insert_many([build | {"_id": build["id"], "org_id": org_id} for build in seed.builds])
        workflows = [*seed.workflows, seed.large_workflow]
        await db.workflows.insert_many([workflow | {"_id": workflow["id"]} for workflow in workflows])


async def _fill_apps(db: Any, seed: Seed, org_id: str) -> None:
    await db.apps.create_index([("org_id", 1), ("created_at", -1), ("_id", -1)])
    await db.apps.insert_many([_document(app) for app in seed.apps])
    await db.stats.insert_many(
        [{"_id": app["id"], "org_id": org_id, "fields": {name: app[name] for name in STATS}} for app in seed.apps]
    )
    ios = sum(app["platform"] == "iOS" for app in seed.apps)
    counts = {"_id": org_id, "total": len(seed.apps), "ios": ios, "android": len(seed.apps) - ios}
    await db.counts.insert_one(counts)


def _document(app: dict[str, Any]) -> dict[str, Any]:
    fields = {name: value for name, value in app.items() if name not in ("id", *STATS)}
    return {"_id": app["id"]} | fields | {"created_at": datetime.fromisoformat(app["created_at"])}

"""Many apps, builds, tests and executions of an organisation: copies of documents that the services wrote."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from examples.client import Client
from services.catalog.storage.documents import search_fields
from services.chassis.mongo import Document, Mongo

BATCH = 5_000
START = "execution/api/execute_workflow_id_async"
PLATFORMS = ("iOS", "Android")
COLOURS = ("Red", "Blue", "Green", "White", "Black", "Amber", "Coral", "Ivory", "Olive", "Pearl")
KINDS = ("wallet", "shop", "music", "travel", "news", "chess", "radio", "hotel", "photo", "fleet")
Vary = Callable[[Document, int], Document]


@dataclass(frozen=True, slots=True)
class Origin:
    """The ids of what was made through REST."""

    app_id: str
    test_id: str
    build_id: str
    workflow_id: str
    execution_id: str


async def plant(client: Client) -> Origin:
    """One of each, through REST."""
    app = await client.call("POST", "apps", json={"name": "Original", "platform": "Android", "description": "A shop"})
    build = await client.upload(app["id"], {"version": "1.0.0", "file": "app.bin", "commit": "4f2c1d9"}, b"artifact")
    test = await client.call("POST", "tests", json={"name": "Launch", "steps": ["launchApp"], "tags": ["smoke"]})
    await client.call("PUT", f"apps/{app['id']}/tests/{test['id']}", json={})
    workflow = await client.call("POST", "workflows", json={"name": "One", "test_ids": [test["id"]]})
    started = await client.call("POST", START, json={"workflow_id": workflow["id"]})
    while not (await client.call("GET", f"executions/{started['id']}", params={"wait": 30}))["completed_at"]:
        pass
    return Origin(app["id"], test["id"], build["id"], workflow["id"], started["id"])


async def fill(catalog: Mongo, executor: Mongo, origin: Origin, rows: int) -> None:
    """So many copies of each, older than the original, and the counters that go with them."""
    named = [catalog.collection("apps"), catalog.collection("tests")]
    keys = (await named[0].index_information())["suffixes"]["key"]
    for collection in named:  # it is built much faster afterwards
        await collection.drop_index("suffixes")
    await asyncio.gather(
        _copy(catalog, "apps", origin.app_id, rows, _named),
        _copy(catalog, "builds", origin.build_id, rows, _build),
        _copy(catalog, "tests", origin.test_id, rows, _test),
        _copy(executor, "executions", origin.execution_id, rows, _execution),
    )
    await asyncio.gather(*(collection.create_index(keys, name="suffixes") for collection in named))
    org_id = (await catalog.collection("apps").find_one({"_id": origin.app_id}))["org_id"]
    counts = {"ios": rows // 2, "android": rows // 2, "tests": rows}
    await catalog.collection("counters").update_one({"org_id": org_id}, {"$inc": counts})
    await catalog.collection("apps").update_one({"_id": origin.app_id}, {"$inc": {"versions_count": rows}})


async def _copy(mongo: Mongo, collection: str, id_: str, rows: int, vary: Vary) -> None:
    original = await mongo.collection(collection).find_one({"_id": id_})
    for first in range(0, rows, BATCH):
        numbers = range(first, min(first + BATCH, rows))
        copies = [{**original, "_id": str(uuid4()), **vary(original, number)} for number in numbers]
        await mongo.collection(collection).insert_many(copies, ordered=False)


def _older(time: datetime, number: int) -> datetime:
    return time - timedelta(seconds=number + 1)


def _named(original: Document, number: int) -> Document:
    name = f"{COLOURS[number % 10]} {number} {KINDS[number // 10 % 10]}"
    return {
        "name": name,
        **search_fields(name),
        "platform": PLATFORMS[number % 2],
        "created_at": _older(original["created_at"], number),
        "versions_count": 0,
    }


def _build(original: Document, number: int) -> Document:
    return {"version": f"1.0.{number + 1}", "uploaded_at": _older(original["uploaded_at"], number)}


def _test(original: Document, number: int) -> Document:
    named = _named(original, number)
    del named["versions_count"]
    return named | {"tags": [f"tag-{number % 100}"]}


def _execution(original: Document, number: int) -> Document:
    ci = {"branch": f"branch-{number % 20}", "commit_sha": f"commit-{number // 3}", "pr_number": number // 10 + 1}
    status = "failed" if number % 10 == 0 else original["status"]
    return {"ci": {**original.get("ci", {}), **ci}, "status": status} | {
        "created_at": _older(original["created_at"], number)
    }

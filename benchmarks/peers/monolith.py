"""The peer: one FastAPI + uvicorn + motor process with the same documents, the same answers and the same key check.

Written as such services usually are: pydantic models as responses, a dependency for the key (SHA-256, cached for 30 s),
majority writes, a transaction for a start.
"""

import hashlib
import os
import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import uuid4

from fastapi import Depends, FastAPI, Header, HTTPException, Query
from motor.motor_asyncio import AsyncIOMotorClient
from pydantic import BaseModel
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

KEY_SECONDS = 30


class App(BaseModel):
    """The App of the interface document."""

    id: str
    org_id: str
    name: str
    platform: str
    static_url: str | None = None
    current_version: str | None = None
    description: str | None = None
    system_prompt: str | None = None
    created_at: datetime
    latest_version: str | None = None
    versions_count: int = 0
    latest_build_id: str | None = None
    current_build_id: str | None = None
    attached_tests: int = 0
    pinned_tests: int = 0
    recent_executions: int | None = 0
    rolling_pass_rate: float | None = None
    attribution_ready: bool | None = False


class Counts(BaseModel):
    """Apps per platform."""

    total: int
    ios: int
    android: int


class Apps(BaseModel):
    """A page of apps."""

    total: int
    page: int
    page_size: int
    total_pages: int
    has_next: bool
    has_previous: bool
    items: list[App]
    platform_counts: Counts


class Start(BaseModel):
    """Asks to start a workflow."""

    workflow_id: str


class Started(BaseModel):
    """Says that an execution was accepted."""

    status: str
    message: str
    id: str
    task_id: str


@asynccontextmanager
async def lifespan(app: FastAPI) -> Any:
    client: AsyncIOMotorClient[Any] = AsyncIOMotorClient(os.environ["PEER_MONGO_URI"], tz_aware=True)
    app.state.client = client
    app.state.db = client.get_database(
        os.environ["PEER_DATABASE"],
        write_concern=WriteConcern("majority", j=True),
        read_concern=ReadConcern("majority"),
    )
    yield
    client.close()


app = FastAPI(lifespan=lifespan)
_keys: dict[str, tuple[float, str]] = {}


async def organisation(authorization: Annotated[str | None, Header()] = None) -> str:
    """The organisation of the caller's key."""
    if authorization is None:
        raise HTTPException(401, "Authorization header missing")
    digest = hashlib.sha256(authorization.removeprefix("Bearer ").encode()).hexdigest()
    known = _keys.get(digest)
    if known is None or known[0] < time.monotonic():
        key = await app.state.db.keys.find_one({"_id": digest})
        if key is None:
            raise HTTPException(401, "Invalid API key")
        known = _keys[digest] = (time.monotonic() + KEY_SECONDS, key["org_id"])
    return known[1]


Organisation = Annotated[str, Depends(organisation)]


def _app(document: dict[str, Any], stats: dict[str, Any] | None) -> App:
    return App(id=document["_id"], **document, **({} if stats is None else stats["fields"]))


@app.get("/api/v1/apps/")
async def list_apps(
    org_id: Organisation,
    page: Annotated[int, Query(ge=1)] = 1,
    page_size: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Apps:
    db = app.state.db
    cursor = db.apps.find({"org_id": org_id}).sort([("created_at", -1), ("_id", -1)])
    documents = await cursor.skip((page - 1) * page_size).limit(page_size).to_list(None)
    ids = [document["_id"] for document in documents]
    stats = {row["_id"]: row async for row in db.stats.find({"org_id": org_id, "_id": {"$in": ids}})}
    counts = await db.counts.find_one({"_id": org_id})
    total, pages = counts["total"], -(-counts["total"] // page_size)
    return Apps(
        total=total,
        page=page,
        page_size=page_size,
        total_pages=pages,
        has_next=page < pages,
        has_previous=page > 1,
        items=[_app(document, stats.get(document["_id"])) for document in documents],
        platform_counts=Counts(total=total, ios=counts["ios"], android=counts["android"]),
    )


@app.get("/api/v1/apps/{app_id}")
async def get_app(app_id: str, org_id: Organisation) -> App:
    document = await app.state.db.apps.find_one({"_id": app_id, "org_id": org_id})
    if document is None:
        raise HTTPException(404, "App not found")
    return _app(document, await app.state.db.stats.find_one({"_id": app_id, "org_id": org_id}))


@app.post("/api/v1/execution/api/execute_workflow_id_async")
async def start(body: Start, org_id: Organisation) -> Started:
    """Store an execution, its runs and its outbox rows in a majority transaction, as ours does."""
    db = app.state.db
    workflow = await db.workflows.find_one({"_id": body.workflow_id, "org_id": org_id})
    if workflow is None:
        raise HTTPException(404, "Workflow not found")
    tests = await db.tests.find({"_id": {"$in": workflow["test_ids"]}, "org_id": org_id}).to_list(None)
    attached = await db.apps.find_one({"_id": workflow["app_id"], "org_id": org_id})
    build = await db.builds.find_one({"app_id": workflow["app_id"], "org_id": org_id})
    id_, now = str(uuid4()), datetime.now(UTC)
    common = {"org_id": org_id, "status": "queued", "created_at": now}
    runs = [
        {"_id": str(uuid4()), "execution_id": id_, "test": test, "app_id": attached["_id"], "build": build} | common
        for test in tests
    ]
    outbox = [{"_id": str(uuid4()), "payload": run, "sent_at": None} for run in runs]
    outbox += [{"_id": str(uuid4()), "request": run["_id"], "sent_at": None} for run in runs]

    async def work(session: Any) -> None:
        await db.executions.insert_one({"_id": id_, "workflow_id": workflow["_id"]} | common, session=session)
        await db.runs.insert_many(runs, session=session)
        await db.outbox.insert_many(outbox, session=session)

    async with await app.state.client.start_session() as session:
        await session.with_transaction(work)
    message = f"Queued: {len(runs)} {'run' if len(runs) == 1 else 'runs'}."
    return Started(status="queued", message=message, id=id_, task_id=id_)

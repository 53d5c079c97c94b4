"""Downloads of kept screens: pictures and parts of them, elements, and what cannot be shown."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import grpc
import pytest
from mobiletest.executor.v1 import executions_pb2, screens_pb2_grpc
from mobiletest.executor.v1 import screens_pb2 as pb
from mobiletest.executor.v1.runs_pb2 import Run
from mobiletest.types.v1 import run_config_pb2
from mobiletest.types.v1.byte_range_pb2 import ByteRange
from mobiletest.types.v1.run_config_pb2 import RunConfig
from PIL import Image

from mobiletest_automation.model.results import TREE, WEBP
from mobiletest_automation.screen.elements import Element, Role
from mobiletest_automation.screen.stored_trees import ELEMENTS_LIMIT, encode_tree
from services.chassis.context import current
from services.chassis.grpc_server import open_channel
from services.chassis.mongo import Mongo
from services.chassis.object_store import ObjectStore
from services.executor.model.screens import ScreenKey
from services.executor.settings import Settings
from services.executor.storage.schema import SCREENS
from services.executor.storage.screens import MongoScreens
from services.executor.tree_reader import LIMITS, TreeReader
from tests.integration.executor.catalog_server import TOKEN, Shelf
from tests.integration.executor.conftest import Client
from tests.integration.executor.models import GOOD, SEE, model

PICTURE, ELEMENTS = "1" * 32, "2" * 32
ROOT = Element(role=Role.SCREEN, children=(Element(role=Role.BUTTON, text="Pay"),))


@dataclass
class Scene:
    screens: MongoScreens
    folder: Path
    stub: Any

    async def store(self, hash: str, content: bytes, content_type: str, org_id: str = "") -> None:
        key = ScreenKey(org_id or current().org_id, hash)
        await self.screens.store(key, content, content_type, datetime.now(UTC).date())

    async def download(self, hash: str, part: ByteRange | None = None) -> tuple[str, bytes, dict[str, Any]]:
        """The content type, the content and the headers of a download."""
        call = self.stub.DownloadScreen(pb.DownloadScreenRequest(hash=hash, range=part))
        bodies = [body async for body in call]
        headers = dict(await call.initial_metadata())
        return bodies[0].content_type, b"".join(body.data for body in bodies), headers

    async def refusal(self, hash: str) -> str:
        """The error's text; its code is NOT_FOUND."""
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await self.download(hash)
        assert raised.value.code() is grpc.StatusCode.NOT_FOUND
        return raised.value.details() or ""


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Mongo]:
    mongo = await Mongo.connect(settings.mongo_uri, settings.executor_database, settings.mongo_driver)
    yield mongo
    await mongo.close()


def _stub(channel: Any) -> Any:
    return screens_pb2_grpc.ScreensStub(channel)  # type: ignore[no-untyped-call]


@pytest.fixture
async def scene(executor: Any, settings: Any, tmp_path: Path) -> AsyncIterator[Scene]:
    own: Settings = settings()
    async with (
        executor(executor_role="api") as app,
        open_channel(app.grpc_address, TOKEN, timeout=20) as channel,
        opened(own) as mongo,
    ):
        yield Scene(MongoScreens(mongo, ObjectStore.open(own.object_store)), tmp_path / "objects", _stub(channel))


async def test_screens_are_downloaded_by_their_organisation(scene: Scene) -> None:
    await scene.store(PICTURE, b"0123456789", WEBP)
    await scene.store(ELEMENTS, encode_tree(ROOT), TREE)
    content_type, content, headers = await scene.download(PICTURE)
    assert (content_type, content) == (WEBP, b"0123456789")
    assert (headers["http-etag"], headers["http-content-length"]) == (f'"{PICTURE}"', "10")
    assert headers["http-cache-control"].startswith("private")
    content_type, content, headers = await scene.download(PICTURE, ByteRange(first=2, last=4))
    assert (content, headers["http-content-range"]) == (b"234", "bytes 2-4/10")
    content_type, content, headers = await scene.download(ELEMENTS)
    assert (content_type, headers["http-etag"]) == ("application/json", f'"{ELEMENTS}"')
    assert json.loads(content) == {"role": "screen", "children": [{"role": "button", "text": "Pay"}]}


async def test_what_cannot_be_shown_is_not_found(scene: Scene) -> None:
    """Another organisation's screen is the same as one that nobody has."""
    await scene.store("a" * 32, b"picture", WEBP, org_id=str(uuid4()))
    assert await scene.refusal("a" * 32) == await scene.refusal("b" * 32)
    await scene.store("c" * 32, b"picture", WEBP)
    for path in scene.folder.rglob("*"):
        if path.is_file() and "c" * 32 in str(path):
            path.unlink()
    assert "deleted" in await scene.refusal("c" * 32)
    for hash, damaged in (("d" * 32, b"no tree"), ("e" * 32, encode_tree(ROOT)[:-3])):
        await scene.store(hash, damaged, TREE)
        assert "cannot be read" in await scene.refusal(hash)


async def test_steps_leave_screens_that_are_stored_once(
    executor: Any, connect: Any, shelf: Shelf, settings: Any
) -> None:
    own: Settings = settings()
    workflow_id = shelf.workflow(shelf.planned(GOOD, SEE, build_id=shelf.build(model())))
    async with (
        executor() as app,
        connect(app.grpc_address) as client,
        open_channel(app.grpc_address, TOKEN, timeout=20) as channel,
        opened(own) as mongo,
    ):
        stored, counts = mongo.collection(SCREENS), []
        scene = Scene(MongoScreens(mongo, ObjectStore.open(own.object_store)), Path(), _stub(channel))
        for _ in range(2):
            run = await _run(client, workflow_id)
            screens = [step.screen for step in run.attempts[0].steps if step.HasField("screen")]
            assert [screen.lost for screen in screens] == [""] * len(screens) != []
            for screen in screens:
                assert (await scene.download(screen.tree))[0] == "application/json"
                assert (await scene.download(screen.picture))[0] == WEBP
            counts.append(await stored.count_documents({"org_id": current().org_id}))
        assert counts[0] == counts[1] > 0
        await stored.delete_many({})
        run = await _run(client, workflow_id, run_config=RunConfig(screens=run_config_pb2.SCREENS_OFF))
        assert not any(step.HasField("screen") for step in run.attempts[0].steps)
        assert not await stored.count_documents({})


async def _run(client: Client, workflow_id: str, **fields: Any) -> Run:
    execution_id = await client.start(workflow_id, **fields)
    assert (await client.ended(execution_id)).success
    [run] = await client.runs(execution_id)
    return run


async def test_the_pictures_of_an_attempt_are_a_video(executor: Any, connect: Any, shelf: Shelf, settings: Any) -> None:
    own: Settings = settings()
    workflow_id = shelf.workflow(shelf.planned(GOOD, SEE, build_id=shelf.build(model())))
    async with (
        executor() as app,
        connect(app.grpc_address) as client,
        opened(own) as mongo,
    ):
        run = await _run(client, workflow_id)
        pictures = {step.screen.picture for step in run.attempts[0].steps if step.screen.picture}

        async def download(run: Run, **fields: Any) -> tuple[bytes, dict[str, Any]]:
            call = client.stub.DownloadVideo(
                executions_pb2.DownloadVideoRequest(execution_id=run.execution_id, run_id=run.id, **fields)
            )
            bodies = [body async for body in call]
            assert {body.content_type for body in bodies} == {WEBP}
            return b"".join(body.data for body in bodies), dict(await call.initial_metadata())

        async def refusal(run: Run, **fields: Any) -> str:
            with pytest.raises(grpc.aio.AioRpcError) as raised:
                await download(run, **fields)
            assert raised.value.code() is grpc.StatusCode.NOT_FOUND
            return raised.value.details() or ""

        content, headers = await download(run)
        assert headers["http-content-length"] == str(len(content))
        assert headers["http-cache-control"].startswith("private")
        with Image.open(BytesIO(content)) as video:
            assert (video.format, getattr(video, "n_frames", 1)) == ("WEBP", len(pictures))
        part, headers = await download(run, attempt=1, range=ByteRange(first=4, last=9))
        assert (part, headers["http-content-range"]) == (content[4:10], f"bytes 4-9/{len(content)}")
        assert "no attempt 2" in await refusal(run, attempt=2)
        await mongo.collection(SCREENS).delete_many({})
        assert "were deleted" in await refusal(run)
        off = await _run(client, workflow_id, run_config=RunConfig(screens=run_config_pb2.SCREENS_OFF))
        assert "run_config.screens is off" in await refusal(off)


async def test_a_tree_takes_no_more_than_its_child_may() -> None:
    texts = tuple(Element(text="x" * 500) for _ in range(ELEMENTS_LIMIT - 1))
    stored = encode_tree(Element(role=Role.SCREEN, children=texts))
    trees = TreeReader()
    strict = TreeReader(replace(LIMITS, cpu_seconds=0.01))
    try:
        shown = await trees.read("org", stored)
        assert shown is not None
        assert len(json.loads(shown)["children"]) == ELEMENTS_LIMIT - 1
        assert await strict.read("org", stored) is None
    finally:
        await trees.close()
        await strict.close()

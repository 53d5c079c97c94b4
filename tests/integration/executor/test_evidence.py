"""Artifacts of failures: stored, delayed by outages of the object store, and expired."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from mobiletest.executor.v1 import executions_pb2 as pb
from mobiletest.executor.v1 import runs_pb2
from mobiletest.types.v1 import execution_pb2

from services.chassis.mongo import Mongo
from services.executor.settings import Settings
from tests.eventually import eventually
from tests.integration.executor.catalog_server import Shelf
from tests.integration.executor.conftest import Client
from tests.integration.executor.models import GOOD, model


def failing(shelf: Shelf) -> str:
    build_id = shelf.build(model())
    return shelf.workflow(shelf.planned(GOOD, 'I see "Nothing"', build_id=build_id))


async def failed(client: Client, shelf: Shelf) -> runs_pb2.Run:
    """A failed run, as returned by the API."""
    execution_id = await client.start(failing(shelf))
    execution = await client.ended(execution_id)
    assert (execution.status, execution.success) == (execution_pb2.EXECUTION_STATUS_COMPLETED, False)
    [run] = await client.runs(execution_id)
    return run


async def download(client: Client, run: runs_pb2.Run, name: str) -> tuple[str, bytes]:
    """Content type and content of an artifact."""
    request = pb.DownloadArtifactRequest(execution_id=run.execution_id, run_id=run.id, artifact_name=name)
    chunks = [chunk async for chunk in client.stub.DownloadArtifact(request)]
    return chunks[0].content_type, b"".join(chunk.data for chunk in chunks)


async def refusal(
    client: Client, run: runs_pb2.Run, name: str, code: grpc.StatusCode = grpc.StatusCode.NOT_FOUND
) -> str:
    """The error for an artifact that is not available."""
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await download(client, run, name)
    assert raised.value.code() is code
    return raised.value.details() or ""


async def test_screenshot_and_tree_of_a_failed_step_can_be_downloaded(
    executor: Any, connect: Any, shelf: Shelf
) -> None:
    async with executor() as app, connect(app.grpc_address) as client:
        run = await failed(client, shelf)
        assert run.failure.step_index == 1
        attempt = run.attempts[-1]
        artifacts = {artifact.name: artifact for artifact in attempt.artifacts}
        picture, tree = artifacts[attempt.steps[1].screenshot], artifacts[attempt.steps[1].tree]
        assert (picture.kind, tree.kind) == ("screenshot", "tree")
        assert picture.url.endswith(f"/{run.execution_id}/runs/{run.id}/artifacts/{picture.name}")
        for artifact in artifacts.values():
            content_type, content = await download(client, run, artifact.name)
            assert (content_type, len(content)) == (artifact.content_type, artifact.size_bytes)
        assert (await download(client, run, picture.name))[1].startswith(b"\x89PNG\r\n\x1a\n")
        assert (
            b"Go" in (await download(client, run, tree.name))[1]
            or b"Done" in (await download(client, run, tree.name))[1]
        )


async def test_an_unavailable_store_delays_artifacts_but_not_the_verdict(
    executor: Any, connect: Any, shelf: Shelf, tmp_path: Path
) -> None:
    blocked = tmp_path / "store" / "runs"
    async with executor(object_store=blocked.parent.as_uri()) as app, connect(app.grpc_address) as client:
        blocked.write_text("a file where the folder should be")
        run = await failed(client, shelf)
        names = [artifact.name for attempt in run.attempts for artifact in attempt.artifacts]
        assert len(names) >= 2
        await refusal(client, run, names[0], grpc.StatusCode.UNAVAILABLE)
        blocked.unlink()

        refusals: list[tuple[grpc.StatusCode, str]] = []

        async def delivered() -> bool:
            try:
                return all([(await download(client, run, name))[1] for name in names])
            except grpc.aio.AioRpcError as error:
                refusals.append((error.code(), str(error.details())))
                return False

        await eventually(delivered)  # the next attempt may come at once
        await eventually(lambda: not list((tmp_path / "spool").glob("*.artifact")))
        assert {code for code, _ in refusals} <= {grpc.StatusCode.NOT_FOUND}
        assert all(text.startswith("Artifact not stored yet") for _, text in refusals)


async def test_artifacts_of_old_runs_expire_and_their_history_stays(
    executor: Any, connect: Any, shelf: Shelf, settings: Callable[..., Settings], tmp_path: Path
) -> None:
    """Artifacts of an attempt whose worker died before it listed them expire too."""
    async with executor() as app, connect(app.grpc_address) as client:
        run = await failed(client, shelf)
        young = await failed(client, shelf)
    orphan = tmp_path / "objects" / "runs" / run.id / "9" / "attempt-9-step-000.png"
    orphan.parent.mkdir(parents=True)
    orphan.write_bytes(b"left by a dead worker")
    await _age(settings(), run.id, days=31)
    async with executor() as app, connect(app.grpc_address) as client:

        async def expired() -> runs_pb2.Run | None:
            [shown] = await client.runs(run.execution_id)
            return shown if shown.attempts[0].artifacts[0].gone == runs_pb2.ARTIFACT_GONE_EXPIRED else None

        shown = await eventually(expired)
        assert shown is not None
        assert not orphan.parents[1].exists()
        assert {artifact.url for attempt in shown.attempts for artifact in attempt.artifacts} == {""}
        assert not shown.report_metadata["artifacts"]
        assert (await refusal(client, run, run.attempts[0].artifacts[0].name)).startswith("Artifact expired")
        assert (shown.status, shown.success, len(shown.attempts)) == (run.status, run.success, len(run.attempts))
        assert [list(attempt.steps) for attempt in shown.attempts] == [list(attempt.steps) for attempt in run.attempts]
        assert (await download(client, young, young.attempts[0].artifacts[0].name))[1]


async def _age(settings: Settings, run_id: str, *, days: float) -> None:
    """Move the end of a run back by this many days."""
    mongo = await Mongo.connect(settings.mongo_uri, settings.executor_database, settings.mongo_driver)
    ended = datetime.now(UTC) - timedelta(days=days)
    await mongo.collection("runs").update_one({"_id": run_id}, {"$set": {"artifacts_kept_since": ended}})
    await mongo.close()

"""Artifacts are uploaded eventually without delaying attempts; those that never are get marked as missing."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest

from services.chassis.errors import Unavailable
from services.executor.artifacts import ArtifactKey
from services.executor.worker.artifact_uploader import ArtifactUploader
from services.executor.worker.spool import ArtifactSpool
from tests.eventually import eventually


class FakeStore:
    """An object store that can be unavailable; `tried` counts the calls."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.down: Exception | None = None
        self.tried = 0

    async def put_bytes(self, key: str, content: bytes) -> None:
        self.tried += 1
        if self.down:
            raise self.down
        self.kept[key] = content

    async def put_file(self, key: str, path: Path) -> None:
        await self.put_bytes(key, await asyncio.to_thread(path.read_bytes))


class FakeRuns:
    """The artifacts of all runs are kept, but of those that have `expired`."""

    def __init__(self) -> None:
        self.marked: list[ArtifactKey] = []
        self.expired: set[str] = set()

    async def is_kept(self, run_id: str) -> bool:
        return run_id not in self.expired

    async def mark_missing(self, key: ArtifactKey) -> None:
        self.marked.append(key)


class Scene:
    def __init__(self, folder: Path, *, max_bytes: int = 1000, deadline: float = 3600) -> None:
        self.store, self.runs, self.spool = FakeStore(), FakeRuns(), ArtifactSpool(folder, max_bytes)
        self.artifacts = ArtifactUploader(self.store, self.spool, self.runs, deadline=deadline)  # type: ignore[arg-type]

    async def waiting(self) -> list[str]:
        return [item.key for item in await self.spool.waiting()]


AWAY = Unavailable("The artifact store is not available")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


async def test_artifacts_are_uploaded_directly(scene: Scene) -> None:
    await scene.artifacts.put("run", 1, "a.png", b"x")
    assert (scene.store.kept, await scene.waiting()) == ({"runs/run/1/a.png": b"x"}, [])


@pytest.mark.parametrize("error", [AWAY, TimeoutError(), RuntimeError("a bug of the store")])
async def test_artifacts_are_spooled_while_the_store_is_unavailable(scene: Scene, error: Exception) -> None:
    scene.store.down = error
    await scene.artifacts.put("run", 1, "a.png", b"x")
    assert await scene.waiting() == ["runs/run/1/a.png"]
    assert not await scene.artifacts.upload_spooled()
    scene.store.down = None
    assert await scene.artifacts.upload_spooled()
    assert (scene.store.kept, await scene.waiting()) == ({"runs/run/1/a.png": b"x"}, [])


async def test_after_a_store_failure_artifacts_go_straight_to_the_spool(scene: Scene) -> None:
    scene.store.down = AWAY
    for number in range(5):
        await scene.artifacts.put("run", 1, f"{number}.png", b"x")
    assert (scene.store.tried, len(await scene.waiting())) == (1, 5)
    scene.store.down = None
    assert await scene.artifacts.upload_spooled()
    await scene.artifacts.put("run", 1, "after.png", b"x")
    assert (len(scene.store.kept), await scene.waiting()) == (6, [])


async def test_the_background_task_uploads_spooled_artifacts(scene: Scene) -> None:
    scene.store.down = AWAY
    task = asyncio.create_task(scene.artifacts.run())
    await scene.artifacts.put("run", 1, "a.png", b"x")
    await eventually(lambda: scene.store.tried > 2)
    scene.store.down = None
    await eventually(lambda: scene.store.kept)
    await scene.artifacts.put("run", 1, "b.png", b"y")
    await eventually(lambda: len(scene.store.kept) == 2)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_artifacts_of_an_earlier_process_are_uploaded(tmp_path: Path) -> None:
    before = Scene(tmp_path)
    before.store.down = AWAY
    await before.artifacts.put("run", 1, "a.png", b"x")
    after = Scene(tmp_path)
    await after.artifacts.flush()
    assert (after.store.kept, await after.waiting()) == ({"runs/run/1/a.png": b"x"}, [])


async def test_without_store_and_spool_space_put_raises_unavailable(tmp_path: Path) -> None:
    scene = Scene(tmp_path, max_bytes=3)
    scene.store.down = AWAY
    with pytest.raises(Unavailable, match="spool is full"):
        await scene.artifacts.put("run", 1, "a.png", b"1234")


async def test_artifacts_beyond_the_deadline_are_marked_missing(scene: Scene) -> None:
    scene.store.down = AWAY
    await scene.artifacts.put("run", 2, "a.png", b"x")
    await scene.artifacts.put("run", 2, "b.png", b"x")
    [item, _] = await scene.spool.waiting()
    os.utime(item.path, (0, 0))
    assert not await scene.artifacts.upload_spooled()
    assert scene.runs.marked == [ArtifactKey("run", 2, "a.png")]
    assert await scene.waiting() == ["runs/run/2/b.png"]


async def test_artifacts_that_were_deleted_while_they_waited_are_not_uploaded(scene: Scene) -> None:
    scene.store.down = AWAY
    await scene.artifacts.put("old", 1, "a.png", b"x")
    await scene.artifacts.put("new", 1, "a.png", b"x")
    scene.store.down, scene.runs.expired = None, {"old"}
    assert await scene.artifacts.upload_spooled()
    assert (list(scene.store.kept), await scene.waiting()) == (["runs/new/1/a.png"], [])


async def test_a_file_uploaded_by_another_process_is_skipped(scene: Scene, tmp_path: Path) -> None:
    scene.store.down = AWAY
    await scene.artifacts.put("run", 1, "a.png", b"x")
    scene.store.down = None

    class Racing(ArtifactSpool):
        async def waiting(self):  # type: ignore[no-untyped-def]
            items = await super().waiting()
            await super().remove(items[0])
            return items

    artifacts = ArtifactUploader(scene.store, Racing(tmp_path, 1000), scene.runs, deadline=60)  # type: ignore[arg-type]
    assert await artifacts.upload_spooled()
    assert scene.store.kept == {}


def test_artifact_keys_round_trip() -> None:
    key = ArtifactKey("run", 3, "attempt-3-log.txt")
    assert ArtifactKey.parse(str(key)) == key
    for other in ("runs/run/x/a", "runs/run/1", "builds/run/1/a", "runs/run/1/a/b", ""):
        assert ArtifactKey.parse(other) is None

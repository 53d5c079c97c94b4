"""What an attempt may store of screens is decided by its worker."""

import pytest

from mobiletest_automation.model.results import TREE, WEBP
from services.executor.worker.processes import host as hosts
from services.executor.worker.processes.host import TOO_LARGE, TOO_MANY_BYTES, TOO_MANY_SCREENS, AttemptScreens
from services.executor.worker.processes.messages import UnknownMessage
from services.executor.worker.screen_store import BuildScreens, WorkerScreens
from tests.fakes.chassis import FakeClock
from tests.fakes.executor import FakeLimitsSource
from tests.fakes.screens import FakeScreens


class Scene:
    def __init__(self) -> None:
        self.stored = FakeScreens()
        worker = WorkerScreens(self.stored, FakeLimitsSource(), FakeClock())
        self.attempt = AttemptScreens(BuildScreens(worker, "org", "build"))

    async def keep(self, number: int, size: int) -> str:
        return await self.attempt.keep(f"{number:032x}", b"x" * size, WEBP)


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(hosts, "SCREENS_LIMIT", 3)
    monkeypatch.setattr(hosts, "SCREENS_BYTES_LIMIT", 10)
    monkeypatch.setattr(hosts, "SCREEN_BYTES", 7)
    return Scene()


async def test_an_attempt_stores_screens_of_its_organisation(scene: Scene) -> None:
    assert not await scene.attempt.has("a" * 32)
    assert await scene.attempt.keep("a" * 32, b"tree", TREE) == ""
    assert await scene.attempt.has("a" * 32)
    assert [key.org_id for key in scene.stored.kept] == ["org"]


async def test_an_attempt_has_a_limited_number_of_screens(scene: Scene) -> None:
    assert [await scene.keep(number, 1) for number in range(4)] == ["", "", "", TOO_MANY_SCREENS]
    assert not await scene.attempt.has(f"{4:032x}")
    assert await scene.keep(0, 1) == ""


async def test_an_attempt_has_a_limited_number_of_bytes(scene: Scene) -> None:
    assert await scene.keep(0, 8) == TOO_LARGE
    assert [await scene.keep(number, 6) for number in range(2)] == ["", TOO_MANY_BYTES]
    assert await scene.keep(1, 4) == ""


@pytest.mark.parametrize("hash", ["", "a" * 31, "A" * 32, "a" * 33, "../" + "a" * 29, "a" * 32 + "\n", "\u0661" * 32])
async def test_a_hash_has_32_hexadecimal_digits(scene: Scene, hash: str) -> None:
    with pytest.raises(UnknownMessage, match="hash"):
        await scene.attempt.has(hash)
    with pytest.raises(UnknownMessage, match="hash"):
        await scene.attempt.keep(hash, b"", TREE)


async def test_a_screen_is_a_tree_or_a_picture(scene: Scene) -> None:
    with pytest.raises(UnknownMessage, match="content type"):
        await scene.attempt.keep("a" * 32, b"<script>", "text/html")
    assert not scene.stored.kept


async def test_runs_of_one_build_share_pictures_by_the_state_of_the_screen(scene: Scene) -> None:
    hash_, state = "a" * 32, "b" * 32
    worker = WorkerScreens(scene.stored, FakeLimitsSource(), FakeClock())
    one, same = (AttemptScreens(BuildScreens(worker, "org", "build")) for _ in range(2))
    others = [
        BuildScreens(worker, "org", "other"),
        BuildScreens(worker, "org", None),
        BuildScreens(worker, "b", "build"),
    ]
    assert await one.picture_of(state) == ""
    assert await one.keep(hash_, b"picture", WEBP, state) == ""
    assert await same.picture_of(state) == hash_
    assert [await other.picture_of(state) for other in others] == [""] * 3
    assert await others[0].has(hash_, state)
    assert await others[0].picture_of(state) == hash_
    with pytest.raises(UnknownMessage, match="state"):
        await same.picture_of("../" + "b" * 29)

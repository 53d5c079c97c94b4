"""What a process of attempts remembers of the screens that its worker has."""

from mobiletest_automation.model.results import TREE
from services.executor.model.screens import ScreenKey
from services.executor.worker.known_screens import KnownScreens
from services.executor.worker.processes.attempt_process import RememberedScreens
from tests.fakes.chassis import FakeClock
from tests.fakes.devices import FakeScreenStore

HASH, OTHER, STATE = "1" * 32, "2" * 32, "3" * 32


class Worker(FakeScreenStore):
    """Counts what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def has(self, hash: str, state: str = "") -> bool:
        self.asked.append(hash)
        return await super().has(hash, state)


async def test_the_worker_is_asked_once_a_day_for_a_screen_that_it_has() -> None:
    worker, clock = Worker(), FakeClock()
    known = KnownScreens(clock, most=10)
    assert not await RememberedScreens(worker, known, "org").has(HASH)
    worker.kept[HASH] = b"tree", TREE
    for _ in range(2):
        assert await RememberedScreens(worker, known, "org").has(HASH)
    assert len(worker.asked) == 2
    clock.advance(24 * 3600)
    assert await RememberedScreens(worker, known, "org").has(HASH)
    assert len(worker.asked) == 3


async def test_a_screen_of_another_organisation_is_not_known() -> None:
    worker, known = Worker(), KnownScreens(FakeClock(), most=10)
    assert await RememberedScreens(worker, known, "org").keep(HASH, b"tree", TREE) == ""
    worker.kept.clear()
    assert await RememberedScreens(worker, known, "org").has(HASH)
    assert not await RememberedScreens(worker, known, "other").has(HASH)


async def test_the_worker_is_told_each_state_of_which_it_has_the_picture() -> None:
    worker = Worker()
    screens = RememberedScreens(worker, KnownScreens(FakeClock(), most=10), "org")
    await screens.keep(HASH, b"picture", TREE)
    assert await screens.has(HASH, STATE)
    assert await screens.picture_of(STATE) == HASH


async def test_what_was_refused_or_was_not_used_for_long_is_not_known() -> None:
    worker, known = Worker(), KnownScreens(FakeClock(), most=1)
    screens = RememberedScreens(worker, known, "org")
    worker.refusal = "full"
    assert await screens.keep(HASH, b"tree", TREE) == "full"
    assert not await screens.has(HASH)
    worker.refusal = ""
    for hash_ in (HASH, OTHER):
        await screens.keep(hash_, b"tree", TREE)
    assert ScreenKey("org", HASH) not in known
    assert ScreenKey("org", OTHER) in known

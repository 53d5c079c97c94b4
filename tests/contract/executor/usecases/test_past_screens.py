"""Past steps and their screens, read from MongoDB and a local object store."""

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from mobiletest_automation.model.results import TREE, WEBP, AttemptResult, StepResult, StepScreen, StepStatus
from services.chassis.context import current
from services.chassis.object_store import ObjectStore
from services.executor.model.runs import Run
from services.executor.model.screens import SCREEN_BYTES, ScreenKey
from services.executor.ports.executions import ScreensFilter
from services.executor.storage.screens import MongoScreens
from services.executor.usecases.past_screens import PastScreens
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import finish, running
from tests.fakes.executor import plan

TEST = plan()
OF_TEST = ScreensFilter(test_id=TEST.target.test_id)


@pytest.fixture
def screens(world: World, tmp_path: Path) -> MongoScreens:
    return MongoScreens(world.mongo, ObjectStore.open(tmp_path.as_uri()))


@pytest.fixture
def past(world: World, screens: MongoScreens) -> PastScreens:
    return PastScreens(world.executions, screens)


def step(index: int, text: str = "Tap it", tree: str = "1" * 32) -> StepResult:
    return StepResult(
        index=index,
        kind="sentence",
        text=text,
        status=StepStatus.PASSED,
        started_at=datetime(2026, 3, 4, tzinfo=UTC),
        screen=StepScreen(tree=tree) if tree else None,
    )


async def ran(world: World, *steps: StepResult, result: AttemptResult = AttemptResult()) -> Run:  # noqa: B008
    return await finish(world, await running(world, TEST), replace(result, steps=steps))


async def texts(past: PastScreens, **limits: int) -> list[str]:
    return [each.step.text async for each in past.steps(OF_TEST, **limits)]


async def test_steps_with_screens_come_newest_run_first(world: World, past: PastScreens) -> None:
    await ran(world, step(0, "old"))
    newest = await ran(world, step(0, "first"), step(1, "without", tree=""), step(2, "last"))
    steps = [each async for each in past.steps(OF_TEST)]
    assert [(each.step.text, each.screen.tree) for each in steps] == [
        (text, "1" * 32) for text in ("first", "last", "old")
    ]
    assert [each.run.id for each in steps[:2]] == [newest.id] * 2


async def test_all_runs_are_read_page_by_page_until_a_limit(world: World, past: PastScreens) -> None:
    for number in range(12):
        await ran(world, step(0, str(number)), step(1, f"{number} again"))
    newest_first = [text for number in reversed(range(12)) for text in (str(number), f"{number} again")]
    assert await texts(past) == newest_first
    assert await texts(past, runs=11) == newest_first[:22]
    assert await texts(past, steps=10) == newest_first[:10]
    assert await texts(past, runs=0) == []


async def test_trees_are_read_by_their_hash(past: PastScreens, screens: MongoScreens) -> None:
    key = ScreenKey(current().org_id, "1" * 32)
    await screens.store(key, b"tree", TREE, date(2026, 3, 4))
    assert await past.tree(key.hash) == b"tree"


async def test_trees_that_are_not_there_are_not_found(past: PastScreens, screens: MongoScreens) -> None:
    org_id, day = current().org_id, date(2026, 3, 4)
    await screens.store(ScreenKey(org_id, "2" * 32), b"picture", WEBP, day)
    await screens.store(ScreenKey(org_id, "3" * 32), b"0" * (SCREEN_BYTES + 1), TREE, day)
    await screens.store(ScreenKey(str(uuid4()), "4" * 32), b"of another", TREE, day)
    for number in "1234":
        assert await past.tree(number * 32) is None

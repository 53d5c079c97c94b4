"""Rechecks of steps on the screens of past runs: MongoDB, kept screens in memory, and the children that check."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.flows.step_places import StepPlace, step_places
from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.results import (
    TREE,
    AttemptResult,
    Resolution,
    StepResult,
    StepScreen,
    StepStatus,
)
from mobiletest_automation.model.run_config import ExecutionMode, RunConfig
from mobiletest_automation.screen.elements import Bounds, Element, Role
from mobiletest_automation.screen.stored_trees import ELEMENTS_LIMIT, encode_tree
from mobiletest_automation.stored_screens.verdict import Verdict
from services.chassis.context import current
from services.chassis.errors import Unavailable
from services.executor.model.runs import RunPlan
from services.executor.model.screens import ScreenKey
from services.executor.model.workers import KnownWorker, PoolReport, WorkerReport
from services.executor.ports.rechecks import StepsOfTest
from services.executor.recheck_child import PLATFORM
from services.executor.tree_reader import LIMITS, TreeReader
from services.executor.usecases.past_screens import PastScreens
from services.executor.usecases.recheck import (
    BY_MODEL,
    CACHED,
    GONE,
    HELPED,
    NOT_THE_SCREEN,
    OTHERS_LIMIT,
    RecheckUseCases,
    ScreenGroup,
    StepRecheck,
)
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import FAILED, finish, running
from tests.fakes.executor import plan
from tests.fakes.screens import FakeScreens

DAY = date(2026, 3, 4)
TAP = 'Tap "Pay"'


def screen(*names: str) -> Element:
    """A screen with buttons of these names, below one another."""
    buttons = tuple(
        Element(role=Role.BUTTON, text=name, bounds=Bounds(0, 20 * row, 100, 20), clickable=True)
        for row, name in enumerate(names)
    )
    return Element(role=Role.SCREEN, bounds=Bounds(0, 0, 100, 400), children=buttons)


class Tests:
    """The port `StoredTests`: one test."""

    __test__ = False

    def __init__(self, *steps: object) -> None:
        self.steps = steps
        self.version = 1

    async def steps_of(self, test_id: str) -> StepsOfTest:
        return StepsOfTest(self.steps, self.version)


class Workers:
    """The port `Workers`: one worker, and whether it says that it has models."""

    def __init__(self, *, has_models: bool | None) -> None:
        pool = PoolReport(name="phones", platform=Platform.ANDROID, slots=1)
        self.worker = WorkerReport(id="w", name="w", slots=1, pools=(pool,), has_models=has_models)

    async def report(self, worker: WorkerReport) -> None:
        raise NotImplementedError

    async def retire(self, worker_id: str) -> None:
        raise NotImplementedError

    async def all(self) -> Sequence[KnownWorker]:
        now = datetime(2026, 3, 4, tzinfo=UTC)
        return (KnownWorker(self.worker, now, now, silent=False),)


class Scene:
    """A test with two steps, and what its runs have left."""

    def __init__(self, world: World, trees: TreeReader) -> None:
        self.world = world
        self.screens = FakeScreens()
        self.tests = Tests(TAP, {"assertVisible": "Thanks"})
        self.plan = plan()
        self.trees = trees

    async def keep(self, root: Element) -> str:
        """The hash of the screen."""
        hash = f"{len(self.screens.kept):032x}"
        await self.screens.store(ScreenKey(current().org_id, hash), encode_tree(root), TREE, DAY)
        return hash

    def step(self, index: int, tree: str, text: str = TAP, **fields: Any) -> StepResult:
        return StepResult(
            index=index,
            kind=fields.pop("kind", "sentence"),
            text=text,
            status=fields.pop("status", StepStatus.PASSED),
            started_at=datetime(2026, 3, 4, tzinfo=UTC),
            place=fields.pop("place", StepPlace(f"steps[{index}]")),
            screen=StepScreen(tree=tree),
            **fields,
        )

    def steps(self, written: list[object], *trees: str) -> list[StepResult]:
        """The steps of a test as it is written, with their screens."""
        places = step_places(parse_flow(written)).values()
        texts = zip(places, trees, map(str, written), strict=True)
        return [self.step(index, tree, text, place=place) for index, (place, tree, text) in enumerate(texts)]

    async def ran(
        self,
        *steps: StepResult,
        plan: RunPlan | None = None,
        result: AttemptResult = AttemptResult(),  # noqa: B008
    ) -> None:
        once = RunConfig(execution_mode=ExecutionMode(retries=0))
        claim = await running(self.world, plan or self.plan, config=once)
        await finish(self.world, claim, replace(result, steps=steps))

    async def recheck(
        self, *, path: str | None = "steps[0]", has_models: bool | None = False, **wanted: Any
    ) -> StepRecheck:
        past = PastScreens(self.world.executions, self.screens)
        usecases = RecheckUseCases(self.tests, past, self.trees, Workers(has_models=has_models))
        return await usecases.recheck(self.plan.target.test_id, path=path, **wanted)


@pytest.fixture
async def trees() -> AsyncIterator[TreeReader]:
    trees = TreeReader()
    yield trees
    await trees.close()


@pytest.fixture
def scene(world: World, trees: TreeReader) -> Scene:
    return Scene(world, trees)


def verdicts(recheck: StepRecheck, group: ScreenGroup = ScreenGroup.PASSED) -> list[tuple[Verdict, str]]:
    return [(each.answer.verdict, each.answer.reason) for each in recheck.screens if each.group is group]


HOLDS = (Verdict.HOLDS, "")


async def test_equal_screens_are_read_once_and_counted_for_each_run(scene: Scene) -> None:
    pay = await scene.keep(screen("Pay"))
    for _ in range(3):
        await scene.ran(scene.step(0, pay), scene.step(1, pay, 'assertVisible: "Thanks"', kind="assertVisible"))
    calls = scene.screens.calls
    recheck = await scene.recheck()
    assert (recheck.runs, verdicts(recheck), verdicts(recheck, ScreenGroup.OTHER)) == (3, [HOLDS] * 3, [])
    assert scene.screens.calls - calls == 2  # one is found and read
    assert [each.answer.element for each in recheck.examples()] == ['button "Pay"'] * 3


async def test_different_screens_of_other_steps_are_checked_up_to_a_limit(scene: Scene) -> None:
    pay, thanks = await scene.keep(screen("Pay")), await scene.keep(screen("Thanks"))
    both = await scene.keep(screen("Pay", "Thanks"))
    other = {"text": 'assertVisible: "Thanks"', "kind": "assertVisible"}
    for tree in (thanks, both, both):
        await scene.ran(scene.step(0, pay), scene.step(1, tree, **other))
    recheck = await scene.recheck()
    assert [verdict for verdict, _ in verdicts(recheck, ScreenGroup.OTHER)] == [Verdict.HOLDS, Verdict.FAILS]
    ((kind, text, counts),) = recheck.other_steps()
    assert (kind, text, counts[Verdict.HOLDS], counts[Verdict.FAILS]) == ("assertVisible", other["text"], 1, 1)
    many = [scene.step(number, await scene.keep(screen(str(number)))) for number in range(OTHERS_LIMIT + 5)]
    await scene.ran(*many)
    assert len((await scene.recheck(path=None, step=TAP)).screens) == OTHERS_LIMIT


async def test_screens_of_another_version_count_only_if_the_step_is_certain(scene: Scene) -> None:
    pay, again = await scene.keep(screen("Pay")), await scene.keep(screen("Pay", "Again"))
    await scene.ran(*scene.steps(["Tap it", TAP], pay, again))
    scene.tests.steps, scene.tests.version = (TAP, "Tap more"), 2
    recheck = await scene.recheck()
    assert verdicts(recheck) == [HOLDS]
    # The former text of the step may be "Tap it", so its screen is not that of another step.
    assert verdicts(recheck, ScreenGroup.OTHER) == []
    await scene.ran(*scene.steps([TAP, TAP], pay, again))
    assert verdicts(await scene.recheck()) == [HOLDS]
    await scene.ran(*scene.steps(["Tap more", TAP], pay, again))
    recheck = await scene.recheck()
    assert verdicts(recheck) == [HOLDS] * 2
    assert [each.past.step.text for each in recheck.screens if each.group is ScreenGroup.OTHER] == ["Tap more"]


async def test_the_rounds_of_a_step_with_a_variable_are_no_other_steps(scene: Scene) -> None:
    """Nor is the step beside it that says the same."""
    scene.tests.steps = ({"repeat": {"times": 2, "commands": ['Tap "${NAME}"', "back", 'Tap "${NAME}"']}},)
    pay, buy = await scene.keep(screen("Pay")), await scene.keep(screen("Buy"))
    path = "steps[0].repeat.commands"
    await scene.ran(
        *(scene.step(number, pay, place=StepPlace(f"{path}[0]", "a", (number,))) for number in (1, 2)),
        scene.step(3, buy, place=StepPlace(f"{path}[2]", "b", (1,))),
    )
    recheck = await scene.recheck(path=f"{path}[0]", step=TAP)
    assert (verdicts(recheck), len(verdicts(recheck, ScreenGroup.OTHER))) == ([HOLDS] * 2, 1)


async def test_what_a_run_does_not_say_is_not_known(scene: Scene) -> None:
    pay = await scene.keep(screen("Pay"))
    await scene.ran(scene.step(0, pay, resolution=Resolution.CACHE))
    await scene.ran(scene.step(0, pay, resolution=Resolution.MODEL))
    await scene.ran(scene.step(0, pay), result=AttemptResult(human_helped=True))
    await scene.ran(scene.step(0, "f" * 32))
    await scene.ran(scene.step(0, pay, status=StepStatus.FAILED), result=FAILED)
    recheck = await scene.recheck()
    assert verdicts(recheck) == [(Verdict.UNKNOWN, why) for why in (GONE, HELPED, BY_MODEL, CACHED)]
    assert verdicts(recheck, ScreenGroup.FAILED) == [(Verdict.UNKNOWN, NOT_THE_SCREEN)]
    changed = await scene.recheck(step={"tapOn": "Pay"})
    assert verdicts(changed) == [(Verdict.UNKNOWN, GONE), HOLDS, HOLDS, HOLDS]
    assert verdicts(changed, ScreenGroup.FAILED) == [HOLDS]


@pytest.mark.parametrize(
    ("calls", "has_models"), [(0, True), (0, None), (1, False)], ids=["workers have", "workers do not say", "a run had"]
)
async def test_sentences_that_a_model_may_carry_out_do_not_fail(
    scene: Scene, calls: int, has_models: bool | None
) -> None:
    await scene.ran(scene.step(0, await scene.keep(screen("Pay")), model_calls=calls))
    recheck = await scene.recheck(step='Tap "Buy"', has_models=has_models)
    ((verdict, reason),) = verdicts(recheck)
    assert (verdict, "model" in reason) == (Verdict.UNKNOWN, True)


async def test_sentences_fail_where_no_worker_has_a_model(scene: Scene) -> None:
    await scene.ran(scene.step(0, await scene.keep(screen("Pay"))))
    ((verdict, _),) = verdicts(await scene.recheck(step='Tap "Buy"', has_models=False))
    assert verdict is Verdict.FAILS


async def test_only_screens_of_one_platform_are_checked(scene: Scene) -> None:
    pay = await scene.keep(screen("Pay"))
    await scene.ran(scene.step(0, pay))
    assert (await scene.recheck(platform=Platform.IOS)).runs == 0
    assert verdicts(await scene.recheck(platform=Platform.ANDROID)) == [HOLDS]


async def test_a_condition_with_a_platform_is_not_known(scene: Scene) -> None:
    """A run does not say whether its device was a browser."""
    await scene.ran(scene.step(0, await scene.keep(screen("Pay"))))
    step = {"runFlow": {"when": {"visible": "Pay", "platform": "Android"}, "commands": ["Tap it"]}}
    assert verdicts(await scene.recheck(step=step)) == [(Verdict.UNKNOWN, PLATFORM)]


async def test_damaged_screens_are_not_known(scene: Scene) -> None:
    await scene.screens.store(ScreenKey(current().org_id, "d" * 32), b"no tree", TREE, DAY)
    await scene.ran(scene.step(0, "d" * 32))
    ((verdict, reason),) = verdicts(await scene.recheck())
    assert (verdict, "cannot be read" in reason) == (Verdict.UNKNOWN, True)


async def test_screens_that_take_too_much_are_not_known(scene: Scene) -> None:
    texts = tuple(Element(text=f"{number} " * 50) for number in range(ELEMENTS_LIMIT - 1))
    await scene.ran(scene.step(0, await scene.keep(Element(role=Role.SCREEN, children=texts))))
    # Enough to read the step in a new process.
    scene.trees = TreeReader(replace(LIMITS, cpu_seconds=0.2))
    try:
        ((verdict, reason),) = verdicts(await scene.recheck())
        assert (verdict, "0.2 s of CPU" in reason) == (Verdict.UNKNOWN, True)
    finally:
        await scene.trees.close()


async def test_a_store_that_does_not_answer_is_no_verdict(scene: Scene) -> None:
    await scene.ran(scene.step(0, await scene.keep(screen("Pay"))))
    scene.screens.down = Unavailable("down")
    with pytest.raises(Unavailable):
        await scene.recheck()

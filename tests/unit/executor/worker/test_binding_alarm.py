"""What a worker says of the elements that the steps of passed runs have bound, and what that costs."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

import pytest

from mobiletest_automation.flows.step_places import StepPlace
from mobiletest_automation.model.results import BindingChange, BoundElement, StepResult, StepScreen, StepStatus
from mobiletest_automation.model.variants import Variant
from mobiletest_automation.stored_screens import past_bindings
from mobiletest_automation.stored_screens.past_bindings import DAYS_KEPT, STEPS_LIMIT, StepPast
from services.chassis.errors import Unavailable
from services.executor.ports.screens import BindingsKey
from services.executor.worker import binding_alarm
from services.executor.worker.binding_alarm import AWAY_SECONDS, BindingAlarm
from tests.fakes.chassis import FakeClock
from tests.unit.executor.model.builders import NOW, new_run

PAY = BoundElement(role="button", id="pay", text="Pay")
LATER = BoundElement(role="button", id="later", text="Pay later")
OTHER = BoundElement(role="button", id="other", text="Pay")
PRICES = [BoundElement(role="text", text=f"{number} €") for number in range(3)]
RUN = new_run()
DAY = timedelta(days=1).total_seconds()


class FakePastBindings:
    """The port `PastBindings` in memory; `down` makes every call fail with it."""

    def __init__(self) -> None:
        self.stored: dict[BindingsKey, tuple[StepPast, ...]] = {}
        self.down: Exception | None = None
        self.loads = self.saves = 0

    async def load(self, key: BindingsKey) -> tuple[StepPast, ...]:
        self.loads += 1
        if self.down is not None:
            raise self.down
        return self.stored.get(key, ())

    async def save(self, key: BindingsKey, steps: Sequence[StepPast], day: date) -> None:
        self.saves += 1
        self.stored[key] = tuple(steps)


class Scene:
    def __init__(self) -> None:
        self.store, self.clock = FakePastBindings(), FakeClock()
        self.alarm = BindingAlarm(self.store, self.clock)

    async def passes(self, *elements: BoundElement | None) -> list[BindingChange]:
        """The changes in a pass whose steps bind these elements; None for one that binds none."""
        return list(await self.alarm.note_pass(RUN, steps(*elements)))

    @property
    def calls(self) -> tuple[int, int]:
        return self.store.loads, self.store.saves


def steps(*elements: BoundElement | None, status: StepStatus = StepStatus.PASSED) -> list[StepResult]:
    return [
        StepResult(
            index=index,
            kind="tapOn",
            text="Pay",
            status=status,
            started_at=NOW,
            place=StepPlace(f"steps[{index}]", f"words {index}"),
            screen=StepScreen(element=element),
        )
        for index, element in enumerate(elements)
    ]


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_a_step_that_binds_another_element_than_in_its_last_passes_is_told(scene: Scene) -> None:
    for _ in range(3):
        assert await scene.passes(None, PAY, OTHER) == []
    [change] = await scene.passes(None, LATER, OTHER)
    assert change == BindingChange(
        1, 'the step bound button "Pay later" (id later); in its last 3 passes it bound button "Pay" (id pay)'
    )
    assert await scene.passes(None, LATER, OTHER) == await scene.passes(None, PAY, OTHER) == []


async def test_another_process_knows_what_was_bound(scene: Scene) -> None:
    for _ in range(3):
        await scene.passes(PAY)
    scene.alarm = BindingAlarm(scene.store, scene.clock)
    assert len(await scene.passes(LATER)) == 1


async def test_repeated_passes_cost_no_query_and_no_write(scene: Scene) -> None:
    for price in PRICES:
        await scene.passes(PAY, price)
    calls = scene.calls
    for price in PRICES:
        await scene.passes(PAY, price)
    assert scene.calls == calls
    scene.clock.advance(DAY)
    for _ in range(2):
        await scene.passes(PAY, PRICES[0])
    assert scene.calls == (calls[0] + 1, calls[1] + 1)


async def test_a_step_that_binds_now_this_and_now_that_says_nothing_and_costs_nothing(scene: Scene) -> None:
    for element in (PAY, LATER, OTHER):
        await scene.passes(element)
    calls = scene.calls
    for element in (LATER, PAY, OTHER, BoundElement(role="button", id="fourth")):
        assert await scene.passes(element) == []
    assert scene.calls == calls


async def test_what_another_process_has_stored_today_is_read_once(scene: Scene) -> None:
    for _ in range(3):
        await scene.passes(PAY)
    scene.alarm = BindingAlarm(scene.store, scene.clock)
    calls = scene.calls
    for _ in range(2):
        assert await scene.passes(PAY) == []
    assert scene.calls == (calls[0] + 1, calls[1])


async def test_steps_that_did_not_pass_or_bound_nothing_do_not_count(scene: Scene) -> None:
    await scene.alarm.note_pass(RUN, steps(PAY, status=StepStatus.WARNED))
    await scene.passes(None)
    assert scene.calls == (0, 0)


@pytest.mark.parametrize(
    "other",
    [
        replace(RUN, org_id="other"),
        replace(RUN, variant=Variant("german")),
        replace(RUN, target=replace(RUN.target, test_id="other")),
        replace(RUN, target=replace(RUN.target, app_id="other")),
        replace(RUN, target=replace(RUN.target, platform=None)),
    ],
    ids=["organisation", "variant", "test", "app", "platform"],
)
async def test_runs_of_something_else_have_another_past(scene: Scene, other: object) -> None:
    for _ in range(3):
        await scene.passes(PAY)
    assert await scene.alarm.note_pass(other, steps(LATER)) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "place",
    [
        None,
        StepPlace("steps[0]", "other words"),
        StepPlace("steps[1]", "other words"),
        StepPlace("steps[0]", "words 0", (2,)),
    ],
    ids=["planned", "edited", "moved", "another round"],
)
async def test_another_step_has_another_past(scene: Scene, place: StepPlace | None) -> None:
    for _ in range(3):
        await scene.passes(PAY)
    assert await scene.alarm.note_pass(RUN, [replace(step, place=place) for step in steps(LATER)]) == ()


async def test_a_step_keeps_its_past_where_another_version_has_moved_it(scene: Scene) -> None:
    for _ in range(3):
        await scene.passes(PAY)
    newer = replace(RUN, target=replace(RUN.target, test_version_number=9))
    moved = [replace(step, place=StepPlace("steps[5]", "words 0")) for step in steps(LATER)]
    assert len(await scene.alarm.note_pass(newer, moved)) == 1


async def test_a_step_whose_words_are_written_twice_is_known_in_its_version_only(scene: Scene) -> None:
    """One that is inserted before it has its words, and then its path."""

    async def note(version: int, element: BoundElement) -> int:
        run = replace(RUN, target=replace(RUN.target, test_version_number=version))
        twice = [replace(step, place=StepPlace("steps[1]")) for step in steps(element)]
        return len(await scene.alarm.note_pass(run, twice))

    for _ in range(3):
        assert await note(1, PAY) == 0
    assert await note(2, LATER) == 0
    assert await note(1, LATER) == 1


async def test_a_storage_that_is_away_says_nothing_and_is_not_asked_for_a_while(scene: Scene) -> None:
    for _ in range(3):
        await scene.passes(PAY)
    scene.store.down = Unavailable("away")
    assert await scene.passes(LATER) == []
    loads = scene.store.loads
    assert await scene.passes(LATER) == []
    assert scene.store.loads == loads
    scene.store.down = None
    scene.clock.advance(AWAY_SECONDS)
    assert len(await scene.passes(LATER)) == 1


async def test_what_is_kept_of_a_test_has_bounds(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    long = replace(PAY, text="x" * 5000, path="y" * 5000, ancestors=("a" * 5000, "b", "c"))
    await scene.passes(*[long] * (STEPS_LIMIT + 1))
    [stored] = scene.store.stored.values()
    assert len(stored) == STEPS_LIMIT
    kept = stored[0].bound[0].element
    assert (len(kept.text), len(kept.path)) == (past_bindings.TEXT_LIMIT, past_bindings.PATH_LIMIT)
    assert [len(each) for each in kept.ancestors] == [past_bindings.TEXT_LIMIT]


async def test_steps_that_have_not_passed_for_long_are_forgotten(scene: Scene) -> None:
    await scene.passes(PAY, LATER)
    scene.clock.advance(DAY * DAYS_KEPT)
    await scene.passes(PAY)
    [stored] = scene.store.stored.values()
    assert len(stored) == 1


async def test_no_more_is_remembered_than_the_latest(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding_alarm, "MOST_REMEMBERED", 1)
    other = replace(RUN, org_id="other")
    for run in (RUN, other) * 3:
        await scene.alarm.note_pass(run, steps(PAY))
    loads = scene.store.loads
    await scene.alarm.note_pass(other, steps(PAY))
    assert scene.store.loads == loads
    await scene.alarm.note_pass(RUN, steps(PAY))
    assert scene.store.loads == loads + 1

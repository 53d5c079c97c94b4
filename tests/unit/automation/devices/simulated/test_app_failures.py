"""Apps that are slow, crash, freeze or do not start, and how their chances are drawn."""

from mobiletest_automation.devices.port import Seed
from mobiletest_automation.devices.simulated.running_app import draw
from mobiletest_automation.model.failures import Category
from mobiletest_automation.screen.elements import Role
from mobiletest_automation.screen.outline import Outline
from tests.unit.automation.attempts import fails
from tests.unit.automation.devices.simulated.models import HEAD, element, shown, started


async def test_a_slow_screen_and_a_late_element_take_virtual_time() -> None:
    device = await started(
        HEAD
        + """
screens:
  first:
    delay: 2s
    elements: [{type: text, text: Now}, {type: text, text: Later, appears: {after: 3s}}]
"""
    )
    assert [node.role for node in Outline(await device.view.tree()).visible] == [Role.PROGRESS]
    await device.timer.sleep(2)
    assert await shown(device) == ["Now"]
    await device.timer.sleep(3)
    assert await shown(device) == ["Now", "Later"]


CRASHING = (
    HEAD
    + """
screens:
  first:
    elements:
      - {type: button, id: crash, text: Crash, tap: {crash: null pointer}}
      - {type: button, id: hang, text: Hang, tap: {freeze: 60s}}
      - {type: button, id: slow, text: Slow, tap: {freeze: 3s}}
"""
)


async def test_a_crash_lasts_until_the_next_launch() -> None:
    device = await started(CRASHING)
    await device.view.tap(await element(device, "crash"))
    for _ in range(2):
        with fails(Category.APP_CRASH, "Test crashed: null pointer"):
            await device.view.tree()
    assert (await device.view.screenshot()).startswith(b"\x89PNG")
    await device.app.launch()
    assert "Crash" in await shown(device)


async def test_a_frozen_app_stops_responding_after_a_while() -> None:
    device = await started(CRASHING)
    await device.view.tap(await element(device, "slow"))
    before = device.timer.now()
    await device.view.tree()
    assert device.timer.now() == before + 3
    await device.view.tap(await element(device, "hang"))
    with fails(Category.APP_NOT_RESPONDING, "did not respond for 5 s"):
        await device.view.tree()


async def test_an_app_may_fail_to_start() -> None:
    screens = "screens: {first: {}}\n"
    for more in ("launch: {crash: no memory}", "state: {a: 1}"):
        text = HEAD.replace("start: first", "start: [{when: a == 2, go: first}]") if "a: 1" in more else HEAD
        with fails(Category.APP_LAUNCH_FAILED, "Test did not start"):
            await started(text + screens + more)


FLAKY = (
    HEAD
    + """
screens:
  first:
    elements:
      - {type: text, text: Sometimes, appears: {chance: 0.5}}
      - {type: button, id: next, text: Next, tap: [{chance: 0.5, go: second}, {nothing: lost}]}
  second: {title: Second}
"""
)


async def test_chances_differ_between_attempts_and_repeat_for_the_same_attempt() -> None:
    async def seen(run: int, attempt: int) -> bool:
        return "Sometimes" in await shown(await started(FLAKY, run_id=f"r{run}", attempt=attempt))

    seen_first = [await seen(run, 1) for run in range(60)]
    seen_second = [await seen(run, 2) for run in range(60)]
    assert 15 <= sum(seen_first) <= 45
    assert seen_first != seen_second
    assert seen_first == [await seen(run, 1) for run in range(60)]


async def test_chances_are_drawn_once_per_visit_of_a_screen() -> None:
    device = await started(FLAKY)
    seen = []
    for _ in range(30):
        await device.app.launch()
        seen.append("Sometimes" in await shown(device))
        assert ("Sometimes" in await shown(device)) is seen[-1]
    assert 5 <= sum(seen) <= 25


def test_draws_are_uniform() -> None:
    drawn = [draw(Seed("run", 1), "x", number) for number in range(2_000)]
    assert all(0 <= number < 1 for number in drawn)
    assert 0.45 < sum(drawn) / len(drawn) < 0.55

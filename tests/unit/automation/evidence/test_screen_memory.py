"""Steps leave their screens, and what happens while they are kept changes no verdict."""

import asyncio
import struct
import zlib
from collections.abc import Sequence
from io import BytesIO

import pytest
from PIL import Image

from mobiletest_automation.devices.port import DeviceFailure, DeviceInfo
from mobiletest_automation.evidence.kept_pictures import KeptPicture, stable_state
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import (
    TREE,
    WEBP,
    Artifact,
    AttemptResult,
    ScreenArea,
    StepResult,
    StepScreen,
    StepStatus,
)
from mobiletest_automation.model.run_config import FallbackTrigger, RunConfig, Screens
from mobiletest_automation.screen.elements import Bounds, Element, Role, walk
from mobiletest_automation.screen.pictures import UnreadablePicture
from mobiletest_automation.screen.stored_trees import decode_tree
from tests.fakes.devices import FakeDevice, FakeEvidence, FakeScreenStore, screen
from tests.unit.automation.attempts import StoppedClock, category, run
from tests.unit.automation.pictures import png

NOT_SHOWN = {"assertVisible": {"text": "Thanks", "optional": True}}


def placed(role: Role, text: str, y: float, **fields: object) -> Element:
    return Element(role=role, text=text, bounds=Bounds(20, y, 100, 40), **fields)  # type: ignore[arg-type]


PAY = placed(Role.BUTTON, "Pay", 100, id="shop:id/pay")
NEXT = placed(Role.BUTTON, "Next", 200)


def huge_png() -> bytes:
    """A picture whose header says that it has 72 megapixels."""
    header = b"IHDR" + struct.pack(">II", 9_000, 8_000) + png()[24:29]
    return png()[:12] + header + struct.pack(">I", zlib.crc32(header)) + png()[33:]


class Shop(FakeDevice):
    """Shows a cart, after a tap what is next, and counts its pictures, which differ by screen."""

    def __init__(self, *more: Element) -> None:
        super().__init__()
        self.more = more
        self.pictures = 0
        self.picture = b""

    @property
    def paid(self) -> bool:
        return "tap Pay" in self.done

    async def tree(self, css: frozenset[str] = frozenset()) -> Element:
        return screen(NEXT if self.paid else PAY, *self.more)

    async def screenshot(self) -> bytes:
        await super().screenshot()
        self.pictures += 1
        return self.picture or png((250, 250, 250 if self.paid else 200), (360, 640))


def screens_of(result: AttemptResult) -> list[StepScreen]:
    assert all(step.screen for step in result.steps)
    return [step.screen for step in result.steps if step.screen is not None]


def config(screens: Screens) -> RunConfig:
    return RunConfig(fallback_trigger=FallbackTrigger.NEVER, screens=screens)


async def test_steps_keep_the_screen_before_their_action_and_the_element_that_they_chose() -> None:
    store = FakeScreenStore()
    result = await run(Shop(), {"tapOn": "Pay"}, {"assertVisible": "Next"}, screens=store)
    tapped, checked = screens_of(result)
    assert tapped.element is not None
    assert (tapped.element.id, tapped.element.role, tapped.element.text) == ("pay", "button", "Pay")
    assert tapped.element.area == ScreenArea(0.0556, 0.1562, 0.2778, 0.0625)
    assert tapped.element.found_by == "command"
    trees = [decode_tree(store.kept[each.tree][0]) for each in (tapped, checked)]
    assert [tree.children[0].text for tree in trees] == ["Pay", "Next"]
    assert {store.kept[each.picture][1] for each in (tapped, checked)} == {WEBP}
    assert store.kept[tapped.tree][1] == TREE
    assert tapped.picture != checked.picture
    assert tapped.fingerprint != checked.fingerprint


async def test_a_screen_with_the_same_elements_is_not_photographed_again() -> None:
    store, device = FakeScreenStore(), Shop()
    steps = ({"assertVisible": "Pay"}, {"tapOn": "Pay"}, {"assertVisible": "Next"})
    first, same, other = screens_of(await run(device, *steps, screens=store))
    assert device.pictures == 2
    assert first.picture == same.picture != other.picture
    assert [first.picture_reused, same.picture_reused, other.picture_reused] == [False, True, False]
    later = Shop()
    again = screens_of(await run(later, *steps, screens=store))
    assert later.pictures == 0
    assert [each.picture for each in again] == [first.picture, same.picture, other.picture]
    assert all(each.picture_reused for each in again)


async def test_of_a_simulated_device_equal_elements_are_drawn_once_whatever_the_build_and_the_device() -> None:
    class NoMemory(FakeScreenStore):
        async def picture_of(self, state: str) -> str:
            return ""

    store = NoMemory()
    first, second = Shop(), Shop()
    first.info, second.info = (DeviceInfo(name, "android", simulated=True) for name in ("sim-1", "sim-2"))
    steps = ({"tapOn": "Pay"}, {"assertVisible": "Next"})
    drawn, shown = [screens_of(await run(device, *steps, screens=store)) for device in (first, second)]
    assert (first.pictures, second.pictures) == (2, 0)
    assert [each.picture for each in drawn] == [each.picture for each in shown]
    assert all(each.picture in store.kept for each in shown)


async def test_of_a_simulated_device_a_screen_that_is_stored_is_reported_with_its_step() -> None:
    reports: list[Sequence[StepResult]] = []

    async def report(steps: Sequence[StepResult], artifacts: Sequence[Artifact]) -> None:
        reports.append(steps)

    store = FakeScreenStore()
    for _ in range(2):
        reports.clear()
        device = Shop()
        device.info = DeviceInfo("sim-1", "android", simulated=True)
        await run(device, {"assertVisible": "Pay"}, screens=store, progress=report)
    [ended] = [steps[0] for steps in reports if steps and steps[0].status is StepStatus.PASSED][:1]
    assert ended.screen is not None
    assert {ended.screen.tree, ended.screen.picture} == set(store.kept)


async def test_a_step_that_fails_has_its_own_picture() -> None:
    store = FakeScreenStore()
    await run(Shop(), {"assertVisible": "Pay"}, screens=store)
    evidence = FakeEvidence()
    result = await run(Shop(), {"assertVisible": "Paid"}, screens=store, evidence=evidence)
    assert category(result) is Category.ASSERTION_FAILED
    [failed] = screens_of(result)
    assert not failed.picture_reused
    assert failed.picture in store.kept


async def test_what_a_person_would_not_see_twice_makes_no_new_state() -> None:
    def shown(clock: str, typed: str = "", on: bool = False) -> Element:
        return screen(
            placed(Role.TEXT, f"Today, {clock}", 10),
            placed(Role.FIELD, typed, 60),
            placed(Role.SWITCH, "Wifi", 120, checked=on),
            placed(Role.TEXT, f"{clock} 83 %", 0, attributes={"type": "XCUIElementTypeStatusBar"}),
        )

    assert stable_state(shown("9:41 AM")) == stable_state(shown("10:02:11"))
    assert stable_state(shown("9:41")) != stable_state(shown("9:41", typed="Ada"))
    assert stable_state(shown("9:41")) != stable_state(shown("9:41", on=True))


async def test_secrets_are_masked_in_trees_and_painted_over_in_pictures() -> None:
    secret = placed(Role.FIELD, "hunter2", 300, secret=True, attributes={"text": "hunter2"})
    token = placed(Role.TEXT, "Your token is tok-12345", 400, label="tok-12345")
    store = FakeScreenStore()
    env = {"API_TOKEN": "tok-12345"}
    [kept] = screens_of(await run(Shop(secret, token), {"assertVisible": "Pay"}, screens=store, env=env))
    tree = decode_tree(store.kept[kept.tree][0])
    texts = {text for each in walk(tree) for text in (each.text, each.label, *each.attributes.values())}
    assert {"Your token is ${API_TOKEN}", "${API_TOKEN}", "Pay"} <= texts
    assert not any("hunter2" in text or "tok-12345" in text for text in texts)
    picture = Image.open(BytesIO(store.kept[kept.picture][0])).convert("L")
    light, dark = picture.getpixel((70, 120)), [picture.getpixel((70, y)) for y in (320, 420)]
    assert light > 200
    assert all(90 < level < 105 for level in dark)


@pytest.mark.parametrize("simulated", [False, True])
@pytest.mark.parametrize(
    "shown",
    [placed(Role.TEXT, "tok-12345", 400), placed(Role.FIELD, "tok-12345", 400, focused=True, hint="Token")],
    ids=["text", "focused"],
)
async def test_a_picture_of_a_run_that_did_not_know_the_secret_is_not_used_again(
    shown: Element, *, simulated: bool
) -> None:
    store = FakeScreenStore()
    pictures = []
    for env in ({}, {"API_TOKEN": "tok-12345"}):
        device = Shop(shown)
        device.info = DeviceInfo("phone", "android", simulated=simulated)
        [kept] = screens_of(await run(device, {"assertVisible": "Pay"}, screens=store, env=env))
        pictures.append(Image.open(BytesIO(store.kept[kept.picture][0])).convert("L").getpixel((70, 420)))
    assert pictures[0] > 200
    assert 90 < pictures[1] < 105


def test_clocks_progress_and_carets_do_not_change_the_hash_of_a_picture() -> None:
    def hash_of(paint: Bounds | None, *, typed: str = "") -> str:
        field = placed(Role.FIELD, typed, 100, focused=True)
        root = screen(placed(Role.TEXT, "12:30", 0), field, placed(Role.PROGRESS, "", 200))

        def draw(picture: Image.Image) -> None:
            if paint is not None:
                picture.paste((9, 9, 9), (int(paint.x), int(paint.y), int(paint.right), int(paint.bottom)))

        return KeptPicture(png(size=(720, 1280), paint=draw), root.bounds, []).hash(root, phone=False)

    plain = hash_of(None)
    assert [hash_of(Bounds(60, y, 20, 20)) for y in (10, 220, 420)] == [plain] * 3
    assert hash_of(Bounds(60, 900, 20, 20)) != plain
    assert hash_of(None, typed="Ada") != plain


def test_kept_pictures_are_small() -> None:
    root = screen()
    tall = Image.open(BytesIO(KeptPicture(png(size=(1080, 2400)), root.bounds, []).as_webp()))
    assert tall.size == (576, 1280)
    with pytest.raises(UnreadablePicture, match="too large"):
        KeptPicture(huge_png(), root.bounds, [])


@pytest.mark.parametrize("passes", [True, False], ids=["passed", "failed"])
@pytest.mark.parametrize("screens", Screens)
async def test_the_setting_decides_of_which_attempts_screens_are_kept(screens: Screens, *, passes: bool) -> None:
    store = FakeScreenStore()
    last = {"assertVisible": "Next" if passes else "Paid"}
    result = await run(Shop(), {"tapOn": "Pay"}, last, screens=store, config=config(screens))
    assert (result.failure is None) is passes
    kept = screens is Screens.ALL or (screens is Screens.FAILED and not passes)
    assert bool(store.kept) is kept
    if screens is Screens.OFF:
        assert [step.screen for step in result.steps] == [None, None]
    else:
        named = {name for each in screens_of(result) for name in (each.tree, each.picture)}
        assert named == (set(store.kept) if kept else {""})
        assert screens_of(result)[0].element is not None


async def test_a_device_without_pictures_is_asked_once() -> None:
    device, store = Shop(), FakeScreenStore()
    device.failing["screenshot"] = DeviceFailure(Category.SCRIPT_ERROR, "this device has no pictures")
    result = await run(device, {"tapOn": "Pay"}, {"assertVisible": "Next"}, screens=store)
    assert result.failure is None
    assert [(each.picture, each.lost) for each in screens_of(result)] == [("", "this device has no pictures")] * 2
    assert all(each.tree in store.kept for each in screens_of(result))


async def test_a_device_that_hangs_over_a_picture_does_not_hold_up_the_steps() -> None:
    class Hanging(Shop):
        asked = 0

        async def screenshot(self) -> bytes:
            self.asked += 1
            hangs.set()
            await asyncio.Event().wait()
            return b""

    hangs, device, clock = asyncio.Event(), Hanging(), StoppedClock()
    running = asyncio.create_task(run(device, {"tapOn": "Pay"}, {"assertVisible": "Next"}, screens=FakeScreenStore()))
    await hangs.wait()
    clock.pass_time(10)
    result = await running
    assert result.failure is None
    assert device.asked == 1
    assert [each.lost for each in screens_of(result)] == ["the device does not answer"] * 2


async def test_what_is_not_kept_is_named_and_changes_no_verdict() -> None:
    full = await run(Shop(), {"tapOn": "Pay"}, screens=FakeScreenStore(refusal="the quota is full"))
    away = await run(Shop(), {"tapOn": "Pay"}, screens=FakeScreenStore(OSError("away")))
    huge = Shop()
    huge.picture = huge_png()
    pixels = await run(huge, {"tapOn": "Pay"}, screens=FakeScreenStore())
    rows = await run(Shop(*[placed(Role.TEXT, "row", 300)] * 20_000), {"tapOn": "Pay"}, screens=FakeScreenStore())
    assert {result.failure for result in (full, away, pixels, rows)} == {None}
    lost = [screens_of(result)[0].lost for result in (full, away, pixels, rows)]
    assert lost == [
        "the quota is full",
        "it could not be stored",
        "the screenshot is too large: it has more than 64,000,000 pixels",
        "the screen has too many elements to be kept",
    ]


@pytest.mark.parametrize("screens", [Screens.ALL, Screens.FAILED])
async def test_a_store_that_hangs_costs_the_screens_and_not_the_verdict(screens: Screens) -> None:
    class Hanging(FakeScreenStore):
        async def keep(self, hash: str, content: bytes, content_type: str, state: str = "") -> str:
            hangs.set()
            await asyncio.Event().wait()
            return ""

    hangs, clock = asyncio.Event(), StoppedClock()
    steps = ({"tapOn": "Pay"}, {"assertVisible": "Paid"})
    running = asyncio.create_task(run(Shop(), *steps, screens=Hanging(), config=config(screens)))
    await hangs.wait()
    while not running.done():
        clock.pass_time(10)
        await asyncio.sleep(0)
    result = await running
    assert category(result) is Category.ASSERTION_FAILED
    assert [(each.tree, each.picture, each.lost) for each in screens_of(result)] == [
        ("", "", "it was not stored in time")
    ] * 2


async def test_steps_inside_steps_have_their_own_screens() -> None:
    block = {"runFlow": {"commands": [{"tapOn": "Pay"}, {"assertVisible": "Next"}]}}
    result = await run(Shop(), block, "hideKeyboard", screens=FakeScreenStore())
    assert [step.screen is not None for step in result.steps] == [False, True, True, True]
    shown = [step.screen.element for step in result.steps if step.screen is not None]
    assert [element.text if element is not None else "" for element in shown] == ["Pay", "Next", ""]

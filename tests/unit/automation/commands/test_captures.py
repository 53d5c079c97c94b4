"""Random texts, and pictures of the screen."""

import io
import re
from typing import Any

import pytest
from PIL import Image

from mobiletest_automation.commands.context import RandomTexts
from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.flows.text_commands import InputRandom
from mobiletest_automation.model.baseline_keys import baseline_key
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.screen.elements import Bounds, Element, Role
from mobiletest_automation.screen.pictures import UnreadablePicture, compare_pictures
from tests.fakes.devices import FakeDevice, FakeEvidence, button, screen
from tests.unit.automation import attempts
from tests.unit.automation.attempts import SentFiles, failure_of
from tests.unit.automation.pictures import png

RANDOM_COMMANDS = ["Text", "Number", "Email", "PersonName", "CityName", "CountryName", "ColorName"]


class PaintedDevice(FakeDevice):
    """Its screenshots have two pixels for each of the screen's: white, and red where the elements are."""

    def __init__(self, *elements: Element) -> None:
        super().__init__(screen(*elements))
        self.elements = elements

    async def screenshot(self) -> bytes:
        def paint(picture: Image.Image) -> None:
            for box in (element.bounds for element in self.elements):
                picture.paste("red", (int(box.x * 2), int(box.y * 2), int(box.right * 2), int(box.bottom * 2)))

        return png(size=(720, 1280), paint=paint)


class FakeBaselines:
    """Has one baseline, and records what it was asked for."""

    def __init__(self, picture: bytes | None = None) -> None:
        self.picture = picture
        self.asked: list[tuple[str, str]] = []

    async def load(self, name: str, form: str) -> bytes | None:
        self.asked.append((name, form))
        return self.picture


async def run(device: FakeDevice, *steps: object, **fields: Any) -> tuple[AttemptResult, FakeEvidence]:
    evidence = FakeEvidence()
    return await attempts.run(device, *steps, evidence=evidence, **fields), evidence


async def typed(run_id: str, attempt: int) -> list[str]:
    device = FakeDevice()
    steps = [f"inputRandom{name}" for name in RANDOM_COMMANDS * 2]
    result, _ = await run(device, *steps, run_id=run_id, attempt=attempt)
    assert result.failure is None
    texts = [done.removeprefix("type ") for done in device.done if done.startswith("type ")]
    assert [step.message for step in result.steps] == [f'typed "{text}"' for text in texts]
    return texts


async def test_every_attempt_at_a_run_types_the_same_and_other_runs_do_not() -> None:
    first = await typed("run-1", 1)
    assert await typed("run-1", 2) == first
    assert await typed("run-2", 1) != first
    assert first[:7] != first[7:]


def test_random_texts_look_as_forms_expect_them() -> None:
    texts = RandomTexts("seed")
    assert re.fullmatch(r"[a-z]{12}", texts.draw(InputRandom("text", 12)))
    assert all(re.fullmatch(r"[1-9][0-9]{4}", texts.draw(InputRandom("number", 5))) for _ in range(50))
    assert re.fullmatch(r"[1-9]", texts.draw(InputRandom("number", 1)))
    assert re.fullmatch(r"[\w.]+@example\.(com|net|org)", texts.draw(InputRandom("email")))
    assert re.fullmatch(r"[A-Za-z']+ [A-Za-z']+", texts.draw(InputRandom("person name")))
    assert all(texts.draw(InputRandom(kind)).strip() for kind in ("city name", "country name", "color name"))


async def test_a_random_password_is_masked() -> None:
    device = FakeDevice(screen(Element(role=Role.FIELD, focused=True, secret=True)))
    result, _ = await run(device, "inputRandomText")
    assert result.steps[0].message == 'typed "[hidden 1]"'


async def test_a_screenshot_is_cropped_to_the_part_of_the_element_that_is_on_the_screen() -> None:
    device = PaintedDevice(button("Pay", bounds=Bounds(100, 600, 80, 70)))
    result, evidence = await run(device, {"takeScreenshot": {"path": "home/pay", "cropOn": "Pay"}})
    assert (result.failure, result.steps[0].action) == (None, "screenshot")
    picture = Image.open(io.BytesIO(evidence.kept["attempt-1-step-000-home-pay.png"]))
    assert (picture.size, picture.getcolors()) == ((160, 80), [(160 * 80, (255, 0, 0))])


@pytest.mark.parametrize("bounds", [Bounds(100, 100, 0.1, 0.1), Bounds(-90, 100, 80, 40)])
async def test_an_element_without_pixels_cannot_be_cropped_on(bounds: Bounds) -> None:
    result, _ = await run(PaintedDevice(button("Pay", bounds=bounds)), {"takeScreenshot": {"cropOn": "Pay"}})
    assert failure_of(result).category is Category.ASSERTION_FAILED
    assert failure_of(result).message == 'button "Pay" is not on the screen'


async def test_a_recording_is_an_artifact_of_the_step_that_ends_it() -> None:
    device = FakeDevice()
    result, evidence = await run(device, {"startRecording": "check out"}, "back", "stopRecording", "stopRecording")
    assert result.failure is None
    assert device.done[1:] == ["start recording", "back", "stop recording"]
    assert evidence.kept == {"attempt-1-step-002-check-out.mp4": b"video"}
    assert [(each.kind, each.content_type) for each in result.artifacts] == [("recording", "video/mp4")]
    assert [step.message for step in result.steps[2:]] == ["(see attempt-1-step-002-check-out.mp4)", ""]


@pytest.mark.parametrize("last", ["back", {"assertTrue": "false"}])
async def test_a_recording_ends_with_the_test(last: object) -> None:
    _, evidence = await run(FakeDevice(), {"startRecording": "all"}, last)
    assert evidence.kept["attempt-1-end-all.mp4"] == b"video"


async def test_there_is_one_recording_at_a_time() -> None:
    result, _ = await run(FakeDevice(), {"startRecording": "one"}, {"startRecording": "two"})
    assert failure_of(result).message.startswith('the recording "one" has not ended')


async def test_a_recording_that_cannot_be_read_changes_no_verdict() -> None:
    device = FakeDevice()
    device.failing["stop"] = DeviceFailure(Category.NETWORK_ERROR, "too large")
    result, evidence = await run(device, {"startRecording": "one"}, "stopRecording")
    assert (result.failure, evidence.kept) == (None, {})
    assert result.steps[1].message == 'the recording "one" could not be read'


# It covers 1 % of the screen.
PAY = button("Pay", bounds=Bounds(0, 0, 36, 64))


async def painted(*elements: Element) -> bytes:
    return await PaintedDevice(*elements).screenshot()


@pytest.mark.parametrize(("percent", "passes"), [(95, True), (99, True), (99.1, False), (100, False)])
async def test_a_screen_may_differ_from_its_baseline_by_the_threshold(percent: float, passes: bool) -> None:
    """One that differs by more can be accepted: its picture is kept."""
    baselines = FakeBaselines(await painted())
    step = {"assertScreenshot": {"path": "start/home", "thresholdPercentage": percent}}
    result, evidence = await run(PaintedDevice(PAY), step, baselines=baselines)
    assert baselines.asked == [("start/home.png", "android-720x1280")]
    assert result.steps[0].action == ("assert_screenshot" if passes else "")
    assert f"99 % of the pixels are equal, and at least {percent:g} % have to be" in result.steps[0].message
    if passes:
        assert (result.failure, evidence.kept) == (None, {})
        return
    assert failure_of(result).reason == 'the screen differs from the baseline "start/home.png"'
    name = f"attempt-1-step-000-{baseline_key('start/home.png', 'android-720x1280')}"
    assert {f"{name}-actual.png", f"{name}-difference.png"} <= evidence.kept.keys()
    assert f"see {name}-difference.png" in result.steps[0].message
    drawn = Image.open(io.BytesIO(evidence.kept[f"{name}-difference.png"]))
    assert [drawn.getpixel(place) for place in [(0, 0), (71, 127), (72, 0), (0, 128)]] == [
        *[(255, 0, 0)] * 2,
        *[(255, 255, 255)] * 2,
    ]


async def test_without_a_baseline_the_test_fails_and_keeps_the_picture() -> None:
    device = PaintedDevice(PAY)
    result, evidence = await run(device, {"assertScreenshot": "home"})
    assert failure_of(result).category is Category.ASSERTION_FAILED
    assert failure_of(result).message.startswith('there is no baseline "home.png" for android-720x1280: ')
    name = f"attempt-1-step-000-{baseline_key('home.png', 'android-720x1280')}-actual.png"
    assert evidence.kept[name] == await device.view.screenshot()


async def test_a_secret_in_the_name_of_a_baseline_is_masked_before_the_name_is_changed() -> None:
    given = {"env": {"TOKEN": "Hunter2Falcon"}, "secrets": frozenset({"TOKEN"})}
    result, evidence = await run(PaintedDevice(), {"assertScreenshot": "${TOKEN}"}, **given)
    assert result.failure is not None
    assert [name for name in evidence.kept if name.endswith("-actual.png")]
    assert not [name for name in evidence.kept if "hunter" in name.lower() or "falcon" in name.lower()]


async def test_a_baseline_of_another_size_is_not_compared() -> None:
    step = {"assertScreenshot": {"path": "pay.png", "cropOn": "Pay"}}
    result, _ = await run(PaintedDevice(PAY), step, baselines=FakeBaselines(await painted()))
    assert failure_of(result).message == (
        'the baseline "pay.png" cannot be compared: the screenshot has 72 x 128 pixels and the baseline 720 x 1280'
    )


@pytest.mark.parametrize("content", [b"no picture", b""])
async def test_an_invalid_baseline_picture_fails_the_step(content: bytes) -> None:
    result, _ = await run(PaintedDevice(), {"assertScreenshot": "home"}, baselines=FakeBaselines(content))
    assert failure_of(result).category is Category.ASSERTION_FAILED


async def test_a_screenshot_of_the_same_attempt_is_a_baseline() -> None:
    device = PaintedDevice(PAY)
    steps = [{"takeScreenshot": {"path": "pay", "cropOn": "Pay"}}, "back"]
    same, _ = await run(device, *steps, {"assertScreenshot": {"path": "pay.png", "cropOn": "Pay"}})
    assert (same.failure, same.steps[2].message.startswith("100 % of the pixels")) == (None, True)
    stored = FakeBaselines(await painted())
    other, _ = await run(device, {"takeScreenshot": "home"}, {"assertScreenshot": "home"}, baselines=stored)
    assert other.steps[1].message.startswith("99 % of the pixels")


IN_FOLDER = {"assertScreenshot": {"path": "home", "file": "shots/home.png"}}


async def test_picture_of_the_folder_is_the_baseline_until_another_is_accepted() -> None:
    """It comes before a screenshot of the test itself."""
    device, white = PaintedDevice(PAY), SentFiles({"shots/home.png": await painted()})
    steps = [{"takeScreenshot": "home"}, IN_FOLDER]
    for baselines, share in ((None, "99 %"), (FakeBaselines(await painted(PAY)), "100 %")):
        result, _ = await run(device, *steps, baselines=baselines, files=white)
        assert result.failure is None
        assert result.steps[1].message.startswith(f"{share} of the pixels are equal")


async def test_a_missing_picture_is_reported_before_the_first_step() -> None:
    """Never is another picture taken for it."""
    device = PaintedDevice(PAY)
    result, _ = await run(device, {"takeScreenshot": "home"}, IN_FOLDER)
    assert failure_of(result).category is Category.CONFIG_INVALID
    assert failure_of(result).message.startswith(
        "steps[1].assertScreenshot: the file shots/home.png was not sent along"
    )
    uncertain = {"runFlow": {"when": {"visible": "Pay"}, "commands": [{"takeScreenshot": "home"}, IN_FOLDER]}}
    result, _ = await run(device, uncertain)
    assert failure_of(result).category is Category.SCRIPT_ERROR


@pytest.mark.parametrize(
    ("color", "share"), [((44, 0, 0), 1), ((45, 0, 0), 0), ((25, 25, 25), 1), ((26, 26, 26), 0), ((255, 255, 255), 0)]
)
def test_colors_within_a_tenth_of_the_distance_of_black_and_white_are_equal(
    color: tuple[int, int, int], share: float
) -> None:
    assert compare_pictures(png(color), png((0, 0, 0))).equal_share == share


def test_pictures_that_are_too_large_are_refused_before_they_are_read() -> None:
    huge = png((0, 0, 0), (5_000, 5_000))
    with pytest.raises(UnreadablePicture, match="more than 16,000,000 pixels"):
        compare_pictures(huge, huge)

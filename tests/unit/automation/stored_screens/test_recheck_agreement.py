"""What a recheck decides is what the run did: the same verdict, and the same element."""

from functools import cache
from pathlib import Path
from random import Random

import pytest
import yaml

from examples.workspace import FOLDER, described_tests
from mobiletest_automation.screen.elements import Bounds, Element, walk
from mobiletest_automation.screen.page_source.reader import read_source
from mobiletest_automation.secret_texts import SecretTexts
from tests.examples import examples
from tests.fakes.devices import FakeDevice, button, screen
from tests.fakes.flows import stored_steps
from tests.maestro.table import APP, FLOWS, PARTS
from tests.unit.automation.devices.simulated.models import started
from tests.unit.automation.stored_screens.agreement import Agreement, SteppingRun
from tests.unit.automation.stored_screens.generated_steps import StepGenerator

SENTENCES = Path(__file__).parents[1] / "sentences"


@cache
def screens() -> list[Element]:
    files = sorted((SENTENCES / "screens_dev").glob("*.yaml"))
    return [read_source(path.with_name(yaml.safe_load(path.read_text())["screen"]).read_text()) for path in files]


class ChangingScreen:
    """Shows one screen and then another, at a moment that often is the end of a wait; some flicker."""

    def __init__(self, random: Random) -> None:
        self.first, self.second = random.choice(screens()), random.choice(screens())
        self._changes = random.choice((0, 0.3, 1, 2.5, 2.9, 3.05))
        self._flickers = random.random() < 0.1

    def __call__(self, now: float) -> Element:
        back = self._flickers and int(now * 7) % 2 == 1
        return self.first if (now < self._changes) is not back else self.second


# Of these builds, 1.2.0 fails some tests.
@pytest.mark.parametrize("build", ["shop-android/1.3.0", "shop-ios/1.2.0"])
async def test_the_example_workspace(build: str) -> None:
    agreement = Agreement()
    for test in described_tests():
        device = await started((FOLDER / f"{build}.yaml").read_text(), platform=build[5:].partition("/")[0])
        steps = stored_steps(test["flow"]) if "flow" in test else test["steps"]
        agreement += await SteppingRun(device).run(*steps)
    assert agreement.wrong == []
    assert agreement.decided > 0.8 * agreement.steps.total()


async def test_each_command_of_maestro() -> None:
    agreement = Agreement()
    for text in FLOWS.values():
        device = await started((APP / "model.yaml").read_text())
        agreement += await SteppingRun(device).run(*stored_steps(text, PARTS))
    assert agreement.wrong == []
    assert agreement.decided > 80


@pytest.mark.parametrize("masked", [False, True], ids=["open", "masked"])
async def test_random_steps_on_screens_that_change_while_they_wait(masked: bool) -> None:
    generator, agreement = StepGenerator(7), Agreement()
    random = generator.random
    for _ in range(examples(2_000)):
        show = ChangingScreen(random)
        elements = list(walk(random.choice((show.first, show.second))))
        secrets = SecretTexts()
        words = [word for each in elements for word in each.text.split() if len(word) > 3]
        if masked and words:
            secrets.add_secrets({"PASSWORD": random.choice(words)})
        agreement += await SteppingRun(FakeDevice(show), 3, secrets).run(generator.step(elements))
    assert agreement.wrong == []
    assert agreement.decided > (0.25 if masked else 0.8) * agreement.steps.total()


@pytest.mark.parametrize("step", [{"assertVisible": {"text": "Two", "below": "One"}}, 'I see "Two" below "One"'])
async def test_places_that_differ_by_a_part_of_a_pixel(step: object) -> None:
    one, two = (button(name, bounds=Bounds(y * 9, y, 8, 8)) for name, y in (("One", 100.015625), ("Two", 100.03125)))
    agreement = await SteppingRun(FakeDevice(screen(one, two))).run(step)
    assert (agreement.wrong, agreement.decided) == ([], 1)

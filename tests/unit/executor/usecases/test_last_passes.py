"""Which steps of two runs are the same, as the runs of real flows are recorded."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from mobiletest_automation.model.attempts import Attempt
from mobiletest_automation.screen.elements import Element
from services.executor.model.runs import Run
from services.executor.usecases.last_passes import pair_steps
from tests.fakes.devices import FakeDevice, button, screen
from tests.unit.automation.attempts import run
from tests.unit.executor.model.builders import NOW, new_run

ALL = screen(button("A"), button("B"), button("C"))
WITHOUT_A = screen(button("B"), button("C"))


def flow(*commands: object, **fields: object) -> dict[str, object]:
    return {"runFlow": {"commands": list(commands), **fields}}


def if_visible(text: str, *commands: object) -> object:
    return flow(*commands, when={"visible": text})


@dataclass
class Ran:
    steps: list[Any]
    screen: Element = ALL
    version: int = 1
    env: Any = None

    async def run(self) -> Run:
        result = await run(FakeDevice(self.screen), *self.steps, env=self.env or {}, step_seconds=1)
        attempt = Attempt(number=1, worker="w", started_at=NOW, success=result.failure is None, steps=result.steps)
        made = new_run()
        return replace(made, attempts=(attempt,), target=replace(made.target, test_version_number=self.version))


async def pairs(later: Ran, passed: Ran) -> list[tuple[int, int]]:
    return [(one.index, other.index) for one, other in pair_steps(await later.run(), await passed.run())]


HOOKED = [{"onFlowComplete": ["Tap C"]}, "Tap B", "Tap A", "Tap C", "Tap B"]
TWO_FLOWS = [if_visible("A", "Tap B"), if_visible("C", "Tap B")]
RETRIED = [{"retry": {"maxRetries": 1, "commands": [{"tapOn": {"text": "A"}}, "Tap B"]}}, "Tap C"]
OPTIONAL = [flow("Tap A", "Tap B", optional=True, onFlowComplete=["Tap B"]), "Tap C"]
TYPED = ['Tap "${FIRST}"', 'Tap "${SECOND}"', "Tap C"]
NAMES = {"FIRST": "A", "SECOND": "B"}
SWAPPED = {"FIRST": "B", "SECOND": "A"}


@pytest.mark.parametrize(
    ("later", "passed", "expected"),
    [
        # A hook that runs after a failure is not the step that stands after the one that failed.
        (Ran(HOOKED, WITHOUT_A), Ran(HOOKED), [(0, 0), (1, 1), (2, 4)]),
        # Another one of two conditions held.
        (Ran(TWO_FLOWS, WITHOUT_A), Ran(TWO_FLOWS, screen(button("A"), button("B"))), [(0, 0), (1, 2)]),
        # The second try of a step is not the step after it.
        (Ran(RETRIED, WITHOUT_A), Ran(RETRIED), [(0, 0), (1, 1)]),
        # What an optional flow runs after its failure is not its next step.
        (Ran(OPTIONAL, WITHOUT_A), Ran(OPTIONAL), [(0, 0), (1, 1), (2, 3), (3, 4)]),
        # Another text of a variable leaves the step the same, also in another version.
        (Ran(TYPED, env=NAMES), Ran(TYPED, env=SWAPPED), [(0, 0), (1, 1), (2, 2)]),
        (Ran(TYPED, env=NAMES, version=2), Ran(TYPED, env=SWAPPED), [(0, 0), (1, 1), (2, 2)]),
        # Rounds are compared with the same rounds, whatever ran before them.
        (
            Ran([if_visible("A", "Tap B"), {"repeat": {"times": 2, "commands": ["Tap B", "Tap C"]}}], WITHOUT_A),
            Ran([if_visible("A", "Tap B"), {"repeat": {"times": 2, "commands": ["Tap B", "Tap C"]}}]),
            [(0, 0), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)],
        ),
        # In another version a step moves, and one that is new has the words of an old one.
        (Ran(["Tap C", "Tap A", "Tap B"], version=2), Ran(["Tap A", "Tap B"]), [(1, 0), (2, 1)]),
        (Ran(["Tap B", "Tap A", "Tap B"], version=2), Ran(["Tap A", "Tap B"]), [(1, 0)]),
        # The step with the same words has not been reached.
        (Ran(["Tap B", "Tap A", "Tap B"], WITHOUT_A, version=2), Ran(["Tap A", "Tap B"]), [(1, 0)]),
        # The same flow runs twice: in one version it is certain which is which.
        (Ran([flow("Tap B"), flow("Tap B")]), Ran([flow("Tap B"), flow("Tap B")]), [(0, 0), (1, 1), (2, 2), (3, 3)]),
        (Ran([flow("Tap B"), flow("Tap B")], version=2), Ran([flow("Tap B")]), []),
    ],
)
async def test_steps_are_paired_only_if_they_are_certain_to_be_the_same(
    later: Ran, passed: Ran, expected: list[tuple[int, int]]
) -> None:
    assert await pairs(later, passed) == expected


async def test_the_last_round_of_a_long_loop_is_compared_with_the_same_round() -> None:
    """It is recorded in place of those that are left out."""
    (one, other) = [await Ran([{"repeat": {"times": times, "commands": ["back"]}}]).run() for times in (1_050, 1_100)]
    paired = pair_steps(one, other)
    assert (len(one.attempts[0].steps), len(other.attempts[0].steps), len(paired)) == (1_000, 1_000, 999)

"""Human in the loop: what a person is asked, and what follows from the answer."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.evidence.recorder import StepRecorder
from mobiletest_automation.flows.steps import Sentence, Step
from mobiletest_automation.keyboard import Keyboard
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import AttemptResult, StepStatus
from mobiletest_automation.outcome import StepFailed, StepOutcome
from mobiletest_automation.ports import HumanQuestion
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.steps.device_actions import DeviceActions
from mobiletest_automation.steps.human_help import HumanHelp
from mobiletest_automation.steps.interactive_help import InteractiveHelp
from tests.eventually import eventually
from tests.fakes.devices import FakeDevice, FakeEvidence, button, screen
from tests.fakes.people import FakeHuman
from tests.unit.automation import attempts
from tests.unit.automation.attempts import failure_of


async def run(device: FakeDevice, human: FakeHuman, *steps: object, **fields: Any) -> AttemptResult:
    return await attempts.run(device, *steps, human=human, step_seconds=3, **fields)


def said(result: AttemptResult) -> Sequence[tuple[str, str]]:
    return [(step.status, step.message) for step in result.steps]


TWO = screen(button("Add"), button("Add", id="other"), button("Pay"))


async def test_a_question_about_a_failed_step_has_a_screenshot() -> None:
    human, evidence = FakeHuman("skip"), FakeEvidence()
    result = await run(FakeDevice(TWO), human, "back", "Tap Add", "Tap Pay", evidence=evidence)
    assert result.failure is None
    (question,) = human.questions
    assert question.text.startswith("This step cannot continue: Tap Add\n")
    assert "2 elements match Add" in question.text
    assert question.step_index == 1
    assert question.options == ('tap the 1st: button "Add"', 'tap the 2nd: button "Add"', "retry", "skip", "fail")
    assert question.screenshot == "attempt-1-step-001-question-1.png"
    assert question.screenshot in evidence.kept
    assert [status for status, _ in said(result)] == ["passed", "skipped", "passed"]
    assert result.steps[1].message == "skipped by a person's answer"
    assert result.human_helped


INSTEAD = "a person's answer was run instead: "


@pytest.mark.parametrize(
    ("answer", "step", "done", "status", "message"),
    [
        ('tap the 2nd: button "Add"', "Tap Add", "tap Add", "passed", f'{INSTEAD}tap the 2nd: button "Add"'),
        ("Tap Pay", "Tap Buy", "tap Pay", "passed", f"{INSTEAD}Tap Pay"),
        ("back", "Tap Buy", "back", "passed", f"{INSTEAD}back"),
        ("skip", "Tap Buy", "launch", "skipped", "skipped by a person's answer"),
    ],
)
async def test_the_answer_is_done_instead_of_the_step(
    answer: str, step: str, done: str, status: str, message: str
) -> None:
    device = FakeDevice(TWO)
    result = await run(device, FakeHuman(answer), step)
    assert (result.failure, device.done[-1], said(result)) == (None, done, [(status, message)])
    assert (result.steps[0].text, result.steps[0].resolution is None) == (step, answer == "skip")
    # What was done instead says nothing about the step of the test in other runs.
    assert (result.steps[0].place is None) == (answer != "skip")


async def test_a_choice_that_left_the_screen_is_asked_about_again() -> None:
    device = FakeDevice(TWO)

    human = FakeHuman('tap the 2nd: button "Add"', "fail")
    human.meanwhile = lambda: setattr(device, "show", screen(*[button("Add")] * 3))
    result = await run(device, human, "Tap Add")
    assert result.failure is not None
    assert "does not offer that choice any more" in human.questions[1].text
    assert not [done for done in device.done if done.startswith("tap")]


async def test_the_answer_retry_runs_the_step_again() -> None:
    device, fixer = FakeDevice(screen()), FakeHuman("retry")
    fixer.meanwhile = lambda: setattr(device, "show", screen(button("Buy")))
    result = await run(device, fixer, "Tap Buy")
    assert result.failure is None
    assert said(result) == [("passed", "tried again as a person asked")]


async def test_commands_are_asked_about_too() -> None:
    human = FakeHuman("skip")
    result = await run(FakeDevice(TWO), human, {"assertVisible": "Buy"})
    assert result.failure is None
    assert human.questions[0].options == ("retry", "skip", "fail")


@pytest.mark.parametrize(
    ("answer", "step", "category", "end"),
    [
        (None, "Tap Buy", Category.ELEMENT_NOT_FOUND, "Nobody answered within 0 s."),
        ("fail", "Tap Add", Category.SCRIPT_ERROR, "A person let it fail."),
    ],
)
async def test_without_help_the_failure_is_that_of_the_step(
    answer: str | None, step: str, category: Category, end: str
) -> None:
    result = await run(FakeDevice(TWO), FakeHuman(answer), step)
    assert (failure_of(result).category, failure_of(result).message.endswith(end)) == (category, True)
    assert end not in (failure_of(result).reason or "")
    assert not result.human_helped


async def test_failing_answers_are_asked_about_again_up_to_the_limit() -> None:
    human = FakeHuman("Tap Nothing", "juggle: five balls", "Tap Nowhere", "Tap Pay")
    result = await run(FakeDevice(TWO), human, "Tap Buy")
    assert len(human.questions) == 3
    assert 'after a person\'s answer: "Tap Nothing"' in human.questions[1].text
    assert 'after a person\'s answer: "Tap Nowhere"' in failure_of(result).message
    names = [question.screenshot for question in human.questions]
    assert len(set(names)) == 3


@pytest.mark.parametrize(
    "step",
    [
        {"tapOn": {"text": "Buy", "optional": True}},
        {"retry": {"maxRetries": 1, "commands": [{"tapOn": {"text": "Buy", "optional": True}}]}},
    ],
)
async def test_optional_steps_are_not_asked_about(step: object) -> None:
    human = FakeHuman("skip")
    assert (await run(FakeDevice(TWO), human, step)).failure is None
    assert human.questions == []


async def test_a_person_is_asked_only_at_the_last_try_of_a_retry() -> None:
    human = FakeHuman("skip")
    result = await run(FakeDevice(TWO), human, {"retry": {"maxRetries": 2, "commands": ["Tap Buy"]}})
    assert result.failure is None
    assert len(human.questions) == 1
    assert [step.status for step in result.steps[1:]] == [StepStatus.WARNED, StepStatus.WARNED, StepStatus.SKIPPED]


async def test_device_failures_are_not_asked_about() -> None:
    human, device = FakeHuman("skip"), FakeDevice(TWO)
    device.failing["tap"] = DeviceFailure(Category.APP_CRASH, "it died")
    result = await run(device, human, "Tap Pay")
    assert (failure_of(result).category, human.questions) == (Category.APP_CRASH, [])


async def test_a_question_without_a_screenshot_is_asked() -> None:
    human, device = FakeHuman("skip"), FakeDevice(TWO)
    device.failing["screenshot"] = DeviceFailure(Category.SESSION_LOST, "no camera")
    assert (await run(device, human, "Tap Buy")).failure is None
    assert human.questions[0].screenshot == ""


async def test_a_question_does_not_outlive_the_run() -> None:
    result = await run(FakeDevice(TWO), FakeHuman(silent=True), "Tap Buy", run_seconds=0.05)
    assert failure_of(result).category is Category.RUN_TIMEOUT


async def test_cancelling_while_a_person_is_asked_closes_the_device() -> None:
    human, device = FakeHuman(silent=True), FakeDevice(TWO)
    task = asyncio.create_task(run(device, human, "Tap Buy"))
    await eventually(lambda: human.questions)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert device.closed == 1


async def skipped(kind: type[HumanHelp], device: FakeDevice, human: FakeHuman, category: Category) -> bool:
    """Whether the person's answer is to skip a step that fails; the device is read again and again meanwhile."""
    recorder = StepRecorder(attempt=1, evidence=FakeEvidence(), now=lambda: datetime.now(UTC), progress=None)
    watcher = Watcher(device)
    actions = DeviceActions(device, watcher, Keyboard(device, watcher, recorder.secrets))
    human_help = kind(human, device, watcher, actions, recorder, keepalive_seconds=0.01)

    async def fail(step: Step) -> StepOutcome:
        raise StepFailed(category, "not there")

    return await human_help.run(recorder.begin(PAY, 0), PAY, fail) is None


PAY = Step(path="steps[0]", name="sentence", command=Sentence("Tap Pay"))


async def test_an_answer_ends_the_waiting_although_the_device_hangs() -> None:
    looked_at = asyncio.Event()

    class Hanging(FakeDevice):
        async def tree(self, css: frozenset[str] = frozenset()) -> Element:
            looked_at.set()
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

    class Late(FakeHuman):
        async def ask(self, question: HumanQuestion) -> str | None:
            await looked_at.wait()
            return await super().ask(question)

    assert await skipped(HumanHelp, Hanging(), Late("skip"), Category.ELEMENT_NOT_FOUND)


@pytest.mark.parametrize("category", [Category.APP_CRASH, Category.SESSION_LOST])
async def test_only_a_lost_session_ends_the_question_to_an_interactive_person(category: Category) -> None:
    read_again = asyncio.Event()

    class Failing(FakeDevice):
        async def tree(self, css: frozenset[str] = frozenset()) -> Element:
            if human.questions:
                read_again.set()
            raise DeviceFailure(category, "it is gone")

    class Late(FakeHuman):
        async def ask(self, question: HumanQuestion) -> str | None:
            answer = await super().ask(question)
            await read_again.wait()
            await asyncio.sleep(0)
            return answer

    human = Late("skip")
    asking = skipped(InteractiveHelp, Failing(), human, Category.ELEMENT_NOT_FOUND)
    if category is Category.SESSION_LOST:
        with pytest.raises(DeviceFailure, match="it is gone"):
            await asking
    else:
        assert await asking


async def try_steps(
    *answers: str | None, steps: Sequence[object] = ("Tap Buy", "back"), device: FakeDevice | None = None, **fields: Any
) -> tuple[FakeHuman, AttemptResult]:
    human = FakeHuman(*answers)
    return human, await run(device or FakeDevice(TWO), human, *steps, interactive=True, **fields)


async def test_an_interactive_person_tries_steps_until_one_is_kept() -> None:
    add, pay = "- tapOn: Add", "- tapOn: {text: Pay}"
    human, result = await try_steps("Tap Nothing", add, "look", pay, "keep")
    assert [question.worked for question in human.questions] == ["", "", add, add, pay]
    assert human.questions[1].text.startswith("This step cannot continue: Tap Buy\nNothing was not found")
    assert human.questions[0].screen == ('button "Add"', 'button "Add"', 'button "Pay"')
    assert (result.failure, result.human_helped) == (None, True)
    assert [status for status, _ in said(result)] == ["passed", "passed"]


async def test_a_step_that_worked_may_come_before_the_one_that_failed() -> None:
    human, result = await try_steps("- tapOn: Pay", "retry", "skip")
    assert [status for status, _ in said(result)] == ["skipped", "passed"]
    assert human.questions[2].worked == ""


async def test_an_interactive_person_who_quits_gets_the_failure_of_the_step() -> None:
    _, result = await try_steps("- tapOn: Pay", "Tap Other", "fail")
    failure = failure_of(result)
    assert failure.category is Category.ELEMENT_NOT_FOUND
    assert failure.message.startswith("Buy was not found")


@pytest.mark.parametrize("answer", ["- runFlow: x.yaml", "- back\n- back", "- unknown: x", "- ["])
async def test_what_is_no_single_step_is_asked_about_again(answer: str) -> None:
    human, result = await try_steps(answer, "skip")
    assert (result.failure, len(human.questions)) == (None, 2)


async def test_scripts_are_asked_about_at_a_terminal_only() -> None:
    steps = [{"evalScript": "${throw 'x'}"}]
    human, result = await try_steps("skip", steps=steps)
    assert (result.failure, len(human.questions)) == (None, 1)
    other = FakeHuman("skip")
    assert (await run(FakeDevice(TWO), other, *steps)).failure is not None
    assert other.questions == []


async def test_only_a_step_can_be_written_and_with_its_variables_for_secrets() -> None:
    typed, choice = "- inputText: hunter22", 'tap the 2nd: button "Add"'
    fields = {"env": {"PASSWORD": "hunter22"}, "secrets": frozenset({"PASSWORD"})}
    human, result = await try_steps(typed, choice, "- back", "keep", steps=["Tap Add"], **fields)
    assert result.failure is None
    assert [(question.worked, question.can_write) for question in human.questions[1:]] == [
        ("- inputText: ${PASSWORD}", True),
        (choice, False),
        ("- back", True),
    ]


@pytest.mark.parametrize("category", [Category.NETWORK_ERROR, Category.APP_CRASH])
async def test_an_interactive_person_is_asked_until_the_person_ends_it(category: Category) -> None:
    device = FakeDevice(TWO)
    device.failing["tap"] = DeviceFailure(category, "it died")
    answers = ("- tapOn: Pay", 'tap the 1st: button "Add"', "skip")
    human, result = await try_steps(*answers, steps=["Tap Add"], device=device)
    assert (result.failure, [question.text for question in human.questions]) == (
        None,
        [human.questions[0].text, *["This step cannot continue: Tap Add\nit died"] * 2],
    )


async def test_the_screens_of_an_interactive_person_take_the_place_of_each_other() -> None:
    human, result = await try_steps("look", "look", "skip")
    assert {question.screenshot for question in human.questions} == {"attempt-1-step-000-question-1.png"}
    assert len(result.artifacts) == 1

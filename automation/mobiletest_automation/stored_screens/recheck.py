"""Whether a step would have held on stored screens, without a device: by the code that runs it.

A stored screen is the one in which the step has found its element, or the last one that it has read. What such a screen
cannot tell is not known; nothing is guessed.
"""

from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mobiletest_automation.commands.context import (
    ELEMENT_SECONDS,
    CommandContext,
    FirstMatch,
    RandomTexts,
    ScreenRecordings,
    TakenPictures,
)
from mobiletest_automation.commands.executor import CommandExecutor
from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.flows.steps import Sentence, Step
from mobiletest_automation.flows.touch_commands import Swipe
from mobiletest_automation.flows.variables import BuiltInVariables
from mobiletest_automation.keyboard import Keyboard
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.run_config import CacheRetryMode
from mobiletest_automation.outcome import ResolutionCost, StepFailed
from mobiletest_automation.ports import NoBaselines, NoFlowFiles, NoStepCache, StepCacheKey
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.identity import ElementIdentity, identity_of
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.secret_texts import SecretTexts
from mobiletest_automation.steps.model_access import ModelAccess
from mobiletest_automation.steps.replay import StepReplay
from mobiletest_automation.steps.resolution_policy import ResolutionPolicy
from mobiletest_automation.steps.runner import CONDITION_FALSE
from mobiletest_automation.steps.screen_reader import ScreenReader
from mobiletest_automation.steps.sentence_actions import SentenceActions
from mobiletest_automation.steps.sentence_runner import SentenceRunner
from mobiletest_automation.stored_screens.device import (
    NoActions,
    NotOnScreen,
    StoredScreenDevice,
    StoredScreenWatcher,
)
from mobiletest_automation.stored_screens.limits import (
    MASKED,
    MODEL,
    TIMING,
    condition_of,
    has_two_parts,
    may_be_masked,
    why_undecidable,
)
from mobiletest_automation.stored_screens.verdict import Verdict

RULES_ALONE = ResolutionPolicy(fallback=False)
# How long a step may usually take; messages name it.
_STEP_SECONDS = 30.0
# Failures of sentences that a model may prevent.
_ASKS_MODEL = frozenset({Category.ELEMENT_NOT_FOUND, Category.SCRIPT_ERROR})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Recheck:
    """What a step does on one screen: `element`, with its `identity`, is what it acts on or has found, if it has any.

    `reason` is why it does not hold, as a run says it, or why that is not known.
    """

    verdict: Verdict
    reason: str = ""
    identity: ElementIdentity | None = None
    element: Element | None = field(default=None, repr=False, compare=False)


def recheck(
    step: Step,
    outline: Outline,
    *,
    platform: str = "android",
    policy: ResolutionPolicy = RULES_ALONE,
    seconds: float = _STEP_SECONDS,
) -> Recheck:
    """Whether the step holds on this screen; of a step that holds others, whether its condition does.

    `policy` says whether a run may ask a model, and `seconds` how long its steps may take.
    """
    why = why_undecidable(step, policy)
    if why:
        return Recheck(Verdict.UNKNOWN, why)
    device = StoredScreenDevice(outline, platform, may_swipe=isinstance(step.command, Swipe))
    try:
        element = _finish(_perform(step, device, outline, seconds))
        answer = _describe(Verdict.HOLDS, element, outline)
    except NotOnScreen as missing:
        return Recheck(Verdict.UNKNOWN, missing.why)
    except StepFailed as failed:
        if has_two_parts(step.command):
            return Recheck(Verdict.UNKNOWN, TIMING)
        if isinstance(step.command, Sentence) and policy.may_ask_model and failed.category in _ASKS_MODEL:
            return Recheck(Verdict.UNKNOWN, f"{MODEL} where the rules cannot: {failed.reason}")
        answer = _describe(Verdict.FAILS, failed.element, outline, failed.reason)
    except DeviceFailure as failure:
        answer = _describe(Verdict.FAILS, None, outline, failure.message)
    sure = None if answer.verdict is Verdict.FAILS else answer.element
    return Recheck(Verdict.UNKNOWN, MASKED) if may_be_masked(step.command, outline, sure) else answer


async def _perform(step: Step, device: StoredScreenDevice, outline: Outline, seconds: float) -> Element | None:
    """What the step acts on or has found, if it has any.

    Raises:
        StepFailed: the step fails.
        DeviceFailure: the step is at fault.
        NotOnScreen: the screen cannot tell.
    """
    watcher = StoredScreenWatcher(device, outline)
    secrets = SecretTexts()
    if isinstance(step.command, Sentence):
        sentences = _sentence_runner(device, watcher, secrets, seconds)
        return (await sentences.run(step.command.text, ResolutionCost())).element
    commands = CommandExecutor(_context(device, watcher, secrets, seconds))
    condition = condition_of(step.command)
    if condition is None:
        return (await commands.run(step.command, optional=step.optional)).element
    if not await commands.condition_holds(condition):
        raise StepFailed(Category.ASSERTION_FAILED, CONDITION_FALSE)
    return FirstMatch(condition.visible)(outline) if condition.visible is not None else None


def _sentence_runner(
    device: StoredScreenDevice, watcher: StoredScreenWatcher, secrets: SecretTexts, seconds: float
) -> SentenceRunner:
    actions, screen = NoActions(), ScreenReader(device, watcher, pictures=False)
    return SentenceRunner(
        device,
        actions,
        SentenceActions(device, watcher, actions, seconds=seconds),
        screen=screen,
        replay=StepReplay(NoStepCache(), _cache_key, actions, screen, CacheRetryMode.STEP, secrets),
        models=ModelAccess(None),
        policy=RULES_ALONE,
    )


def _cache_key(sentence: str) -> StepCacheKey:
    return StepCacheKey("", "", "", sentence)


def _context(
    device: StoredScreenDevice, watcher: StoredScreenWatcher, secrets: SecretTexts, seconds: float
) -> CommandContext:
    return CommandContext(
        device=device,
        watcher=watcher,
        keyboard=Keyboard(device, watcher, secrets),
        secrets=secrets,
        variables=BuiltInVariables(device.info.flow_platform),
        random_texts=RandomTexts(""),
        baselines=TakenPictures(NoBaselines(), NoFlowFiles()),
        recordings=ScreenRecordings(device),
        own_ids=frozenset(),
        files=NoFlowFiles(),
        seconds=min(seconds, ELEMENT_SECONDS),
    )


def _finish(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing outside of it."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise AssertionError("a stored screen is never waited for")


def _describe(verdict: Verdict, element: Element | None, outline: Outline, reason: str = "") -> Recheck:
    return Recheck(verdict, reason, None if element is None else identity_of(element, outline), element)

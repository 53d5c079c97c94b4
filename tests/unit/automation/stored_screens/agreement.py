"""Runs steps one after another, also after failures, and checks each again on the stored screen that it has left."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from mobiletest_automation.commands.context import CommandContext, RandomTexts, ScreenRecordings, TakenPictures
from mobiletest_automation.commands.executor import CommandExecutor
from mobiletest_automation.devices.port import Device, DeviceFailure
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.flows.selectors import ALWAYS
from mobiletest_automation.flows.steps import Sentence, Step
from mobiletest_automation.flows.variables import BuiltInVariables
from mobiletest_automation.keyboard import Keyboard
from mobiletest_automation.model.run_config import CacheRetryMode
from mobiletest_automation.outcome import ResolutionCost, StepFailed
from mobiletest_automation.ports import NoBaselines, NoFlowFiles, NoStepCache, StepCacheKey
from mobiletest_automation.screen.elements import Element, walk
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.screen.stored_trees import decode_tree, encode_tree
from mobiletest_automation.secret_texts import SecretTexts
from mobiletest_automation.sentences.grammar import parse_sentence
from mobiletest_automation.sentences.intents import Intent
from mobiletest_automation.steps.device_actions import DeviceActions
from mobiletest_automation.steps.model_access import ModelAccess
from mobiletest_automation.steps.replay import StepReplay
from mobiletest_automation.steps.screen_reader import ScreenReader
from mobiletest_automation.steps.sentence_actions import SentenceActions
from mobiletest_automation.steps.sentence_runner import SentenceRunner
from mobiletest_automation.stored_screens.limits import condition_of
from mobiletest_automation.stored_screens.recheck import RULES_ALONE, Recheck, recheck
from mobiletest_automation.stored_screens.verdict import Verdict

ROUNDS = 2


class ScreensOfStep(Watcher):
    """Keeps the screens that were read since `begin`."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._screens: list[Outline] = []

    def begin(self) -> None:
        self._screens.clear()

    async def look(self) -> Outline:
        screen = await super().look()
        self._screens.append(screen)
        return screen

    def screen_with(self, element: Element | None) -> Outline | None:
        """The last one that has the element; without one, the one that decided, if any was read."""
        if element is None:
            return self.seen if self._screens else None
        return next((each for each in reversed(self._screens) if element in set(walk(each.root))), None)


@dataclass
class Agreement:
    """How the checks agree with what ran, by kind of step; `wrong` says where they do not.

    `refused` says why the device did not carry out what the step had found: a screen does not tell that.
    """

    steps: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    held: Counter[str] = field(default_factory=Counter)
    why: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __iadd__(self, other: "Agreement") -> "Agreement":
        for mine, others in zip(self._counts, other._counts, strict=True):
            mine.update(others)
        self.wrong += other.wrong
        return self

    @property
    def _counts(self) -> tuple[Counter[str], ...]:
        return self.steps, self.unknown, self.held, self.why, self.refused

    @property
    def decided(self) -> int:
        return self.steps.total() - self.unknown.total() - self.refused.total()

    def table(self) -> str:
        rows = [
            (kind, count, count - self.unknown[kind], self.held[kind]) for kind, count in sorted(self.steps.items())
        ]
        lines = [f"{kind:28} {count:6} {decided:6} held {held}" for kind, count, decided, held in rows]
        return "\n".join(
            (*lines, f"decided {self.decided} of {self.steps.total()}, refused {self.refused}, wrong {len(self.wrong)}")
        )


class SteppingRun:
    """Runs steps on a device as an attempt does, but goes on after failures."""

    def __init__(self, device: Device, seconds: float = 10.0, secrets: SecretTexts | None = None) -> None:
        """Texts that are secret are masked in the stored screens."""
        self._device = device
        secrets = self._secrets = secrets or SecretTexts()
        self._seconds = seconds
        self._watcher = ScreensOfStep(device)
        self.agreement = Agreement()
        files = NoFlowFiles()
        keyboard = Keyboard(device, self._watcher, secrets)
        actions = DeviceActions(device, self._watcher, keyboard)
        screen = ScreenReader(device, self._watcher, pictures=False)
        self._sentences = SentenceRunner(
            device,
            actions,
            SentenceActions(device, self._watcher, actions, seconds=seconds, patience=seconds),
            screen=screen,
            replay=StepReplay(NoStepCache(), _key, actions, screen, CacheRetryMode.STEP, secrets),
            models=ModelAccess(None),
            policy=RULES_ALONE,
        )
        context = CommandContext(
            device=device,
            watcher=self._watcher,
            keyboard=keyboard,
            secrets=secrets,
            variables=BuiltInVariables(device.info.flow_platform),
            random_texts=RandomTexts("run"),
            baselines=TakenPictures(NoBaselines(), files),
            recordings=ScreenRecordings(device),
            own_ids=frozenset(),
            files=files,
            seconds=seconds,
        )
        self._commands = CommandExecutor(context)

    async def run(self, *steps: object) -> Agreement:
        """Run steps as they are written in a test."""
        await self._run_all(parse_flow(list(steps)).steps)
        return self.agreement

    async def _run_all(self, steps: Sequence[Step]) -> None:
        for step in steps:
            await self._run(step)

    async def _run(self, step: Step) -> None:
        condition = condition_of(step.command)
        if not step.inner_steps and condition is None:
            await self._run_leaf(step)
            return
        for _ in range(ROUNDS):
            if not await self._holds(step):
                return
            await self._run_all(step.inner_steps)

    async def _holds(self, step: Step) -> bool:
        """Whether its condition holds, if it has one."""
        condition = condition_of(step.command)
        if condition in (None, ALWAYS) or step.pending is not None:
            return True
        self._watcher.begin()
        failed, holds = False, True
        try:
            holds = await self._commands.condition_holds(condition)
        except (StepFailed, DeviceFailure):
            failed, holds = True, False
        self._compare(step, held=holds, element=None, any_element=not failed)
        return holds

    async def _run_leaf(self, step: Step) -> None:
        self._watcher.begin()
        element, held, why = None, True, ""
        try:
            element = await self._perform(step)
        except StepFailed as failed:
            element, held = failed.element, False
        except DeviceFailure as failed:
            held, why = False, failed.message
        self._compare(step, held=held, element=element, why=why)

    async def _perform(self, step: Step) -> Element | None:
        if isinstance(step.command, Sentence):
            return (await self._sentences.run(step.command.text, ResolutionCost())).element
        if step.pending is not None or not hasattr(step.command, "action"):
            return None
        try:
            return (await self._commands.run(step.command, optional=step.optional)).element
        except AssertionError:
            return None

    def _mask(self, element: Element) -> dict[str, str]:
        texts = {name: getattr(element, name) for name in ("text", "label", "hint", "id")}
        return {name: self._secrets.mask(text) for name, text in texts.items()}

    def _compare(
        self, step: Step, *, held: bool, element: Element | None, any_element: bool = False, why: str = ""
    ) -> None:
        kind = _kind(step)
        self.agreement.steps[kind] += 1
        self.agreement.held[kind] += held
        screen = self._watcher.screen_with(element) or Outline(Element())
        stored = Outline(decode_tree(encode_tree(screen.root, self._mask)))
        answer = recheck(step, stored, platform=self._device.info.flow_platform, seconds=self._seconds)
        if answer.verdict is Verdict.UNKNOWN:
            self.agreement.unknown[kind] += 1
            self.agreement.why[answer.reason] += 1
            return
        if why and answer.verdict is Verdict.HOLDS:
            self.agreement.refused[why] += 1
            return
        same = any_element or _position(answer.element, stored) == _position(element, screen)
        if (answer.verdict is Verdict.HOLDS) is not held or not same:
            self.agreement.wrong.append(
                f"{step.title}: held {held}, {element and element.describe()} {why}; {_said(answer)}"
            )


def _said(answer: Recheck) -> str:
    return f"{answer.verdict} {answer.reason} {answer.element and answer.element.describe()}"


def _kind(step: Step) -> str:
    if not isinstance(step.command, Sentence):
        return step.name
    meaning = parse_sentence(step.command.text)
    return f"sentence: {meaning.action if isinstance(meaning, Intent) else 'not understood'}"


def _position(element: Element | None, outline: Outline) -> int | None:
    if element is None:
        return None
    return next(place for place, each in enumerate(walk(outline.root)) if each is element)


def _key(sentence: str) -> StepCacheKey:
    return StepCacheKey("", "", "", sentence)

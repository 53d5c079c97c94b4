"""The app that runs on a simulated device: where it is, what it holds, and what happens to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from services.executor.automation.devices import DeviceFailure, Seed, Timer
from services.executor.automation.elements import Role
from services.executor.automation.simulated.chance import draw
from services.executor.automation.simulated.expressions import Template, Value
from services.executor.automation.simulated.model import (
    Add,
    AppModel,
    Crash,
    Effect,
    Freeze,
    Go,
    GoBack,
    Nothing,
    Outcome,
    Outcomes,
    Screen,
    Set,
    Widget,
)
from services.executor.model.failures import Category

PATIENCE_SECONDS = 5.0
"""How long a system waits for an app before it says that the app is not responding."""


@dataclass(slots=True)
class RunningApp:
    """One installed app. Raises DeviceFailure when it has died or hangs."""

    model: AppModel
    seed: Seed
    timer: Timer
    state: dict[str, Value] = field(default_factory=dict)
    history: list[str] = field(default_factory=list)
    focus: str | None = None
    scrolled: float = 0.0
    ready_at: float = 0.0
    frozen_until: float = 0.0
    crash: str | None = None
    visits: int = 0
    launches: int = 0
    happenings: int = 0

    def __post_init__(self) -> None:
        self.state = dict(self.model.state)

    @property
    def running(self) -> bool:
        return bool(self.history)

    @property
    def screen(self) -> Screen:
        return self.model.screens[self.history[-1]]

    async def launch(self, *, clear_state: bool) -> None:
        self.stop()
        self.launches += 1
        if clear_state:
            self.state = dict(self.model.state)
        await self.timer.sleep(self.model.launch_delay)
        for effect in self._chosen(self.model.launch, "launch", self.launches):
            if isinstance(effect, Crash):
                raise DeviceFailure(Category.APP_LAUNCH_FAILED, f"{self.model.name} did not start: {effect.message}")
        for effect in self._chosen(self.model.start, "start", self.launches):
            self._apply(effect)
        if not self.running:
            raise DeviceFailure(Category.APP_LAUNCH_FAILED, f"{self.model.name} did not start: no start screen applies")

    def stop(self) -> None:
        self.history.clear()
        self.crash = None
        self.frozen_until = 0.0

    async def respond(self) -> None:
        """Wait for a slow app; raises when it crashed, and when it hangs longer than a system bears."""
        if self.crash is not None:
            raise DeviceFailure(Category.APP_CRASH, f"{self.model.name} crashed: {self.crash}")
        remaining = self.frozen_until - self.timer.now()
        if remaining > PATIENCE_SECONDS:
            await self.timer.sleep(PATIENCE_SECONDS)
            raise DeviceFailure(
                Category.APP_NOT_RESPONDING, f"{self.model.name} did not respond for {PATIENCE_SECONDS:g} s"
            )
        if remaining > 0:
            await self.timer.sleep(remaining)

    @property
    def loading(self) -> bool:
        return self.timer.now() < self.ready_at

    def shows(self, widget: Widget) -> bool:
        """Whether the element is there now: by its condition, its time, and chance drawn anew with each visit."""
        if not widget.visible.holds(self.state) or self.timer.now() < self.ready_at + widget.after:
            return False
        return widget.chance >= 1.0 or draw(self.seed, "appears", widget.key, self.visits) < widget.chance

    def happen(self, events: Mapping[str, Outcomes], event: str, what: str) -> bool:
        """Let an event have its outcome; False when nothing is said about it."""
        if event not in events:
            return False
        self.happenings += 1
        for effect in self._chosen(events[event], f"{what}/{event}", self.happenings):
            self._apply(effect)
        return True

    def go(self, screen: str) -> None:
        self.history.append(screen)
        self._entered()

    def go_back(self) -> None:
        """To the screen before; from the first one, out of the app."""
        self.history.pop()
        if self.running:
            self._entered()

    def touch(self, widget: Widget) -> None:
        """A tap on an element that is there."""
        if not widget.enabled.holds(self.state):
            return
        self.focus = widget.key if widget.role is Role.FIELD else None
        if widget.bind is not None and widget.role in (Role.CHECKBOX, Role.SWITCH, Role.RADIO):
            self.state[widget.bind] = True if widget.role is Role.RADIO else not self.state[widget.bind]
        self.happen(widget.events, "tap", widget.key)

    def _entered(self) -> None:
        self.visits += 1
        self.focus = None
        self.scrolled = 0.0
        self.ready_at = self.timer.now() + self.screen.delay

    def _chosen(self, outcomes: Outcomes, what: str, count: int) -> tuple[Effect, ...]:
        for position, outcome in enumerate(outcomes):
            if self._applies(outcome, what, position, count):
                return outcome.effects
        return ()

    def _applies(self, outcome: Outcome, what: str, position: int, count: int) -> bool:
        if not outcome.when.holds(self.state):
            return False
        return outcome.chance >= 1.0 or draw(self.seed, what, position, count) < outcome.chance

    def _apply(self, effect: Effect) -> None:
        match effect:
            case Go(screen):
                self.go(screen)
            case GoBack():
                self.go_back()
            case Set(name, value):
                self.state[name] = value.fill(self.state) if isinstance(value, Template) else value
            case Add(name, amount):
                held = self.state[name]
                self.state[name] = (held if isinstance(held, int | float) else 0) + amount
            case Crash(message):
                self.crash = message
            case Freeze(seconds):
                self.frozen_until = self.timer.now() + seconds
            case Nothing():
                pass

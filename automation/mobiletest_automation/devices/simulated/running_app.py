"""The app that runs on a simulated device: its screen, variables, crashes and log."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from mobiletest_automation.devices.port import DeviceFailure, Seed, Timer
from mobiletest_automation.devices.simulated.app_model import (
    DEVICE,
    PERMISSION,
    AddToVariable,
    AppModel,
    AppScreen,
    Crash,
    DoNothing,
    Effect,
    EventOutcome,
    EventOutcomes,
    Freeze,
    GoBack,
    GoToScreen,
    SetVariable,
    TextTemplate,
    Widget,
)
from mobiletest_automation.flows.app_commands import Argument
from mobiletest_automation.flows.templates import Value, to_text
from mobiletest_automation.flows.texts import cut
from mobiletest_automation.model.failures import Category
from mobiletest_automation.screen.elements import Role

_ANSWERS = {"always": "allow", "inuse": "allow", "limited": "allow", "never": "deny"}

LINES_LIMIT = 1_000
LINE_LIMIT = 500


class AppLog:
    """Lines, each with the device's time; the oldest are dropped beyond LINES_LIMIT."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._lines: deque[str] = deque(maxlen=LINES_LIMIT)

    def add(self, line: str) -> None:
        self._lines.append(f"{self._timer.now():10.3f} {cut(' '.join(line.split()), LINE_LIMIT)}")

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)


# How long the system waits for a frozen app before it reports that the app is not responding.
PATIENCE_SECONDS = 5.0


@dataclass(slots=True)
class RunningApp:
    """One installed app.

    Raises:
        DeviceFailure: it has crashed or hangs.
    """

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
    triggered: int = 0
    typed: int = 0
    log: AppLog = field(init=False)

    def __post_init__(self) -> None:
        self.log = AppLog(self.timer)
        self.state = dict(DEVICE)
        self._reset_variables()

    @property
    def running(self) -> bool:
        return bool(self.history)

    @property
    def screen(self) -> AppScreen:
        return self.model.screens[self.history[-1]]

    async def launch(self, arguments: Mapping[str, Argument]) -> None:
        """Restart the app. An argument sets the variable of its name."""
        self.stop()
        self.launches += 1
        self.log.add(f"start {self.model.id}")
        self._apply_arguments(arguments)
        await self.timer.sleep(self.model.launch_delay)
        for effect in self._choose_effects(self.model.launch, "launch", self.launches):
            if isinstance(effect, Crash):
                self.log.add(f"crash: {effect.message}")
                raise DeviceFailure(Category.APP_LAUNCH_FAILED, f"{self.model.name} did not start: {effect.message}")
        for effect in self._choose_effects(self.model.start, "start", self.launches):
            self._apply(effect)
        if not self.running:
            raise DeviceFailure(Category.APP_LAUNCH_FAILED, f"{self.model.name} did not start: no start screen applies")

    def stop(self) -> None:
        if self.running:
            self.log.add(f"stop {self.model.id}")
        self.history.clear()
        self.crash = None
        self.frozen_until = 0.0

    def clear_state(self) -> None:
        """Stop the app and reset its variables and permissions."""
        self.stop()
        self._reset_variables()

    def set_permissions(self, permissions: Mapping[str, str]) -> None:
        """`all`, every permission of the model, comes before the others. The model knows allow, deny and unset."""
        known = {name.removeprefix(PERMISSION) for name in self.state if name.startswith(PERMISSION)}
        for name, value in sorted(permissions.items(), key=lambda each: each[0] != "all"):
            if name != "all" and name not in known:
                self.log.add(f"{self.model.id} has no permission {name}")
            for each in known if name == "all" else known & {name}:
                self.state[PERMISSION + each] = _ANSWERS.get(value, value)

    def _apply_arguments(self, arguments: Mapping[str, Argument]) -> None:
        for name, value in arguments.items():
            if name in self.model.state:
                self.state[name] = value
            else:
                self.log.add(f"{self.model.id} has no variable {name}")

    def _reset_variables(self) -> None:
        self.state.update(self.model.state)
        self.state.update({PERMISSION + name: "unset" for name in self.model.permissions})

    async def respond(self) -> None:
        """Wait while the app is frozen.

        Raises:
            DeviceFailure: it crashed, or is frozen for too long.
        """
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
        """Whether the element is present now: by its condition, its delay, and its chance, drawn once per visit."""
        if not widget.visible.holds(self.state) or self.timer.now() < self.ready_at + widget.after:
            return False
        return widget.chance >= 1.0 or draw(self.seed, "appears", widget.key, self.visits) < widget.chance

    def trigger(self, events: Mapping[str, EventOutcomes], event: str, what: str) -> bool:
        """Apply the outcome of an event; False when the model defines none."""
        if event not in events:
            return False
        self.triggered += 1
        for effect in self._choose_effects(events[event], f"{what}/{event}", self.triggered):
            self._apply(effect)
        return True

    def go(self, screen: str) -> None:
        self.history.append(screen)
        self._enter_screen()

    def go_back(self) -> None:
        """Go to the previous screen; from the first one, leave the app."""
        self.history.pop()
        if self.running:
            self._enter_screen()

    def tap(self, widget: Widget) -> None:
        """Tap an element that is present."""
        if not widget.enabled.holds(self.state):
            return
        self.focus = widget.key if widget.role is Role.FIELD else None
        if widget.bind is not None and widget.role in (Role.CHECKBOX, Role.SWITCH, Role.RADIO):
            self.state[widget.bind] = True if widget.role is Role.RADIO else not self.state[widget.bind]
        self.trigger(widget.events, "tap", widget.key)

    def takes_character(self, field: Widget) -> bool:
        """Whether the next character that is typed arrives; each one is drawn for itself."""
        self.typed += 1
        return field.loses <= 0.0 or draw(self.seed, "loses", field.key, self.typed) >= field.loses

    def _enter_screen(self) -> None:
        self.visits += 1
        self.focus = None
        self.scrolled = 0.0
        self.ready_at = self.timer.now() + self.screen.delay
        self.log.add(f"screen {self.screen.name}")

    def _choose_effects(self, outcomes: EventOutcomes, what: str, count: int) -> tuple[Effect, ...]:
        for position, outcome in enumerate(outcomes):
            if self._applies(outcome, what, position, count):
                return outcome.effects
        return ()

    def _applies(self, outcome: EventOutcome, what: str, position: int, count: int) -> bool:
        if not outcome.when.holds(self.state):
            return False
        return outcome.chance >= 1.0 or draw(self.seed, what, position, count) < outcome.chance

    def _apply(self, effect: Effect) -> None:
        match effect:
            case GoToScreen(screen):
                self.go(screen)
            case GoBack():
                self.go_back()
            case SetVariable(name, value):
                self.state[name] = value.fill(self.state) if isinstance(value, TextTemplate) else value
                self.log.add(f"{name} is {to_text(self.state[name])}")
            case AddToVariable(name, amount):
                held = self.state[name]
                self.state[name] = (held if isinstance(held, int | float) else 0) + amount
            case Crash(message):
                self.crash = message
                self.log.add(f"crash: {message}")
            case Freeze(seconds):
                self.log.add(f"no answer for {seconds:g} s")
                self.frozen_until = self.timer.now() + seconds
            case DoNothing():
                pass


def draw(seed: Seed, *purpose: object) -> float:
    """A uniform number in [0, 1), the same for the same seed and purpose."""
    text = "\x1f".join(map(str, (seed.run_id, seed.attempt, *purpose)))
    return int.from_bytes(blake2b(text.encode(), digest_size=7).digest(), "big") / 2**56

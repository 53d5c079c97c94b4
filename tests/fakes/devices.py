"""A scripted device, and a store for evidence, for tests that do not need the simulated device."""

from collections.abc import Callable, Mapping, Sequence
from typing import Self

from mobiletest_automation.devices.port import (
    LAUNCH,
    AppUnderTest,
    Device,
    DeviceFailure,
    DeviceInfo,
    DeviceLog,
    LaunchOptions,
    LinkTarget,
    OnSession,
    PageSource,
    Recording,
    Seed,
    VirtualTimer,
)
from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.device_commands import Mode, Orientation
from mobiletest_automation.model.devices import Session
from mobiletest_automation.screen.elements import Bounds, Element, Point, Role

Target = Element | Point


def screen(*children: Element) -> Element:
    return Element(role=Role.SCREEN, bounds=Bounds(0, 0, 360, 640), children=children)


def button(text: str, **fields: object) -> Element:
    return Element(role=Role.BUTTON, text=text, **fields)  # type: ignore[arg-type]


class FakeRecorder:
    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note

    async def start(self) -> None:
        self._note("start recording")

    async def add_frame(self) -> None: ...

    async def stop(self) -> Recording | None:
        self._note("stop recording")
        return Recording(b"video", "video/mp4")


class FakeDevice:
    """Shows `show`, perhaps depending on its time, records its calls, and fails those named in `failing`.

    `logged` is what the device has logged, `logged_recently` the end of it. It is its own view, and its own app.
    """

    def __init__(self, show: Callable[[float], Element] | Element | None = None) -> None:
        self.info = DeviceInfo("fake-1", "android", simulated=False)
        self.timer = VirtualTimer()
        self.show = show if show is not None else screen()
        self.failing: dict[str, DeviceFailure] = {}
        self.refused: dict[type[BaseCommand], str] = {}
        self.modes: dict[Mode, bool] = {}
        self.done: list[str] = []
        self.logged = self.logged_recently = ""
        self.closed = 0
        self.recorder = FakeRecorder(self._note)

    @property
    def view(self) -> Self:
        return self

    @property
    def app(self) -> Self:
        return self

    def unsupported(self, command: BaseCommand) -> str:
        return self.refused.get(type(command), "")

    async def begin_step(self) -> None:
        await self.timer.sleep(0)

    async def install(self, build: AppUnderTest) -> None:
        self._note("install")

    async def launch(self, options: LaunchOptions = LAUNCH) -> None:
        said = [options.app_id or "", "clear" if options.clear_state else "", "" if options.stop_first else "resume"]
        given = [*_pairs(options.permissions), *_pairs(options.arguments)]
        self._note(" ".join(filter(None, ["launch", *said, *given])))

    async def stop(self, app_id: str | None = None) -> None:
        self._note(" ".join(filter(None, ["stop", app_id])))

    async def clear_state(self, app_id: str | None = None) -> None:
        self._note(" ".join(filter(None, ["clear_state", app_id])))

    async def kill(self, app_id: str | None = None) -> None:
        self._note(" ".join(filter(None, ["kill", app_id])))

    async def clear_keychain(self) -> None:
        self._note("clear_keychain")

    async def set_permissions(self, app_id: str | None, permissions: Mapping[str, str]) -> None:
        self._note(" ".join(filter(None, ["permissions", app_id, *_pairs(permissions)])))

    async def tree(self, css: frozenset[str] = frozenset()) -> Element:
        self._note("tree", quiet=True)
        return self.show if isinstance(self.show, Element) else self.show(self.timer.now())

    async def screen_bounds(self) -> Bounds:
        return (self.show if isinstance(self.show, Element) else self.show(self.timer.now())).bounds

    async def source(self) -> PageSource:
        self._note("source", quiet=True)
        return PageSource("<fake/>")

    async def screenshot(self) -> bytes:
        self._note("screenshot", quiet=True)
        return b"\x89PNG picture"

    async def log(self) -> DeviceLog:
        self._note("log", quiet=True)
        return DeviceLog(self.logged, self.logged, self.logged_recently)

    async def tap(self, target: Target, *, times: int = 1) -> None:
        self._note(f"{'tap' if times == 1 else 'double_tap'} {_named(target)}")

    async def long_press(self, target: Target, seconds: float = 1.0) -> None:
        self._note(f"long_press {_named(target)} {seconds:g}")

    async def type(self, text: str, target: Element | None = None) -> None:
        self._note(f"type {text}{' into ' + _named(target) if target else ''}")

    async def field_text(self, *, focused: bool = False) -> str | None:
        return None

    async def clear(self, target: Element | None = None, characters: int | None = None) -> None:
        self._note(f"clear {_named(target) if target else characters}")

    async def swipe(self, start: Point, end: Point, seconds: float = 0.4) -> None:
        self._note(f"swipe {start.x:g},{start.y:g} {end.x:g},{end.y:g}")

    async def back(self) -> None:
        self._note("back")

    async def press_key(self, key: str) -> None:
        self._note(f"press {key}")

    async def hide_keyboard(self) -> None:
        self._note("hide keyboard")

    async def open_link(self, url: str, target: LinkTarget = LinkTarget.ANY) -> None:
        self._note(f"open {url}" + ("" if target is LinkTarget.ANY else f" in {target}"))

    async def is_mode_on(self, mode: Mode) -> bool:
        return self.modes.get(mode, False)

    async def set_mode(self, mode: Mode, *, on: bool) -> None:
        self._note(f"{mode} {on}")
        self.modes[mode] = on

    async def add_media(self, name: str, content: bytes) -> None:
        self._note(f"media {name} {len(content)}")

    async def set_location(self, latitude: float, longitude: float) -> None:
        self._note(f"location {latitude:g},{longitude:g}")

    async def set_orientation(self, orientation: Orientation) -> None:
        self._note(f"orientation {orientation}")

    async def close(self) -> None:
        self.closed += 1

    def _note(self, what: str, *, quiet: bool = False) -> None:
        failure = self.failing.get(what.split()[0])
        if failure is not None:
            raise failure
        if not quiet:
            self.done.append(what)


def _pairs(said: Mapping[str, object]) -> list[str]:
    return [f"{name}={value}" for name, value in said.items()]


def _named(target: Target) -> str:
    return target.name if isinstance(target, Element) else f"{target.x:g},{target.y:g}"


class FakeDevices:
    """Always acquires the same device, and reports its `session` if it has one."""

    def __init__(
        self, device: Device | None = None, failure: DeviceFailure | None = None, session: Session | None = None
    ) -> None:
        self.device = device
        self.failure = failure
        self.session = session
        self.released: list[Device] = []

    async def acquire(
        self, platform: str, build: AppUnderTest, seed: Seed, *, on_session: OnSession | None = None
    ) -> Device:
        if self.failure is not None or self.device is None:
            raise self.failure or AssertionError("no device")
        if self.session is not None and on_session is not None:
            await on_session(self.session)
        return self.device

    async def release(self, device: Device) -> None:
        await device.close()
        self.released.append(device)


class FakeScreenStore:
    """The port `ScreenStore` in memory; `refusal` is why it stores nothing."""

    def __init__(self, failure: Exception | None = None, *, refusal: str = "") -> None:
        self.failure = failure
        self.refusal = refusal
        self.kept: dict[str, tuple[bytes, str]] = {}
        self.states: dict[str, str] = {}

    async def picture_of(self, state: str) -> str:
        self._fail()
        return self.states.get(state, "")

    async def has(self, hash: str, state: str = "") -> bool:
        self._fail()
        if hash in self.kept and state:
            self.states[state] = hash
        return hash in self.kept

    async def keep(self, hash: str, content: bytes, content_type: str, state: str = "") -> str:
        self._fail()
        if not self.refusal:
            self.kept[hash] = content, content_type
            await self.has(hash, state)
        return self.refusal

    def _fail(self) -> None:
        if self.failure is not None:
            raise self.failure


class FakeEvidence:
    """Stores in memory without `secret`, or raises `failure`."""

    def __init__(self, failure: Exception | None = None, *, secret: bytes | None = None) -> None:
        self.failure = failure
        self.secret = secret
        self.kept: dict[str, bytes] = {}

    async def keep(self, name: str, content: bytes, content_type: str) -> int:
        if self.failure is not None:
            raise self.failure
        self.kept[name] = content if self.secret is None else content.replace(self.secret, b"")
        return len(self.kept[name])


def names(elements: Sequence[Element]) -> list[str]:
    return [element.name for element in elements]

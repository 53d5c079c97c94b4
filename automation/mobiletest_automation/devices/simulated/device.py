"""The device port over an app model: taps change the model's state, trees and screenshots are drawn from it."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from mobiletest_automation.devices.port import (
    LAUNCH,
    NO_FOCUS,
    AppUnderTest,
    DeviceFailure,
    DeviceInfo,
    DeviceLog,
    LaunchOptions,
    LinkTarget,
    PageSource,
    Seed,
    VirtualTimer,
    script_error,
)
from mobiletest_automation.devices.recording import FrameRecorder
from mobiletest_automation.devices.simulated.app_model import NO_PACE, AppModel, Pace, Widget
from mobiletest_automation.devices.simulated.layout import HEIGHT, SCREEN, layout_of, present_widgets, widgets_at
from mobiletest_automation.devices.simulated.model_file import BYTES_LIMIT, built_in_model, read_artifact
from mobiletest_automation.devices.simulated.renderer import draw_screen, home_screen, render, to_xml
from mobiletest_automation.devices.simulated.running_app import RunningApp
from mobiletest_automation.flows.app_commands import OpenBrowser
from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.device_commands import ROTATIONS, Mode, Orientation
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.flows.templates import to_text
from mobiletest_automation.flows.text_commands import KEYS
from mobiletest_automation.flows.texts import cut
from mobiletest_automation.model.failures import Category
from mobiletest_automation.screen.elements import Bounds, Element, Point, Role

# Characters that a field takes.
_FIELD_LIMIT = 20_000

# A movement of fewer pixels is not a swipe.
_MIN_SWIPE = 24


class SimulatedApp:
    """The app under test, which is the only one, and what the device has around it."""

    def __init__(self, build: AppUnderTest, seed: Seed, timer: VirtualTimer, pace: Pace) -> None:
        self._build = build
        self._seed = seed
        self._timer = timer
        self._any_id = False
        self._environment: dict[str, str | float | bool] = {}
        self.installed: RunningApp | None = None
        self.pace = pace
        # None before a model was installed.
        self.built_in_model: bool | None = None

    async def install(self, build: AppUnderTest) -> None:
        self._build = build
        model = await self._model(build)
        if model.pace is not None:
            self.pace = model.pace
            self._timer.scale = model.pace.scale
        self.installed = RunningApp(model, self._seed, self._timer)
        self.installed.state.update(self._environment)

    async def _model(self, build: AppUnderTest) -> AppModel:
        content = await build.read(BYTES_LIMIT + 1) if build.read is not None else b""
        try:
            model = read_artifact(content)
        except DocumentError as error:
            raise DeviceFailure(Category.ARTIFACT_INVALID, f"the build's app model cannot be used: {error}") from error
        self.built_in_model = model is None
        self._any_id = model is None and build.package_name is None
        return model or built_in_model()

    async def launch(self, options: LaunchOptions = LAUNCH) -> None:
        """Applies permissions and arguments as docs/app-models.md says; logs those that the model does not have."""
        app = await self._named(options.app_id)
        if options.clear_state:
            app.clear_state()
        app.set_permissions({"all": "allow"} if options.grants_permissions else options.permissions)
        if options.stop_first or not app.running:
            await app.launch(options.arguments)

    async def stop(self, app_id: str | None = None) -> None:
        (await self._named(app_id)).stop()

    async def kill(self, app_id: str | None = None) -> None:
        (await self._named(app_id)).stop()

    async def clear_state(self, app_id: str | None = None) -> None:
        (await self._named(app_id)).clear_state()

    async def clear_keychain(self) -> None:
        """A model has no keychain."""

    async def set_permissions(self, app_id: str | None, permissions: Mapping[str, str]) -> None:
        (await self._named(app_id)).set_permissions(permissions)

    async def _named(self, app_id: str | None) -> RunningApp:
        """The app, which is also there if its installation was skipped. DeviceFailure for another one."""
        if self.installed is None:
            await self.install(self._build)
        assert self.installed is not None, "it was installed"  # noqa: S101
        ids = (None, self.installed.model.id, self._build.package_name)
        if app_id not in ids and not self._any_id:
            own = self._build.package_name or self.installed.model.id
            message = f"{app_id} is not installed: a simulated device has only the app under test, {own}"
            raise DeviceFailure(Category.APP_LAUNCH_FAILED, message)
        return self.installed

    async def open_link(self, url: str, target: LinkTarget = LinkTarget.ANY) -> None:
        """The model is the only app that opens links, whatever the target."""
        app = await self._named(None)
        if url not in app.model.links:
            raise script_error(f"no app on this device handles {url}")
        if not app.running:
            await app.launch({})
        await app.respond()
        app.trigger(app.model.links, url, "link")

    async def is_mode_on(self, mode: Mode) -> bool:
        return bool(self._environment.get(f"device.{mode}", False))

    async def set_mode(self, mode: Mode, *, on: bool) -> None:
        """Sets device.airplane_mode or device.dark_mode of the app model."""
        await self._set_environment({f"device.{mode}": on})

    async def add_media(self, name: str, content: bytes) -> None:
        """A model has no gallery: the device's log tells what was added."""
        if self.installed is not None:
            self.installed.log.add(f"media {name} added ({len(content)} bytes)")

    async def set_location(self, latitude: float, longitude: float) -> None:
        """Sets device.latitude and device.longitude of the app model."""
        await self._set_environment({"device.latitude": latitude, "device.longitude": longitude})

    async def set_orientation(self, orientation: Orientation) -> None:
        """Sets device.orientation and device.rotation of the app model; the screen keeps its size."""
        turned = "landscape" if orientation.startswith("landscape") else "portrait"
        await self._set_environment({"device.orientation": turned, "device.rotation": ROTATIONS[orientation]})

    async def _set_environment(self, values: Mapping[str, str | float | bool]) -> None:
        self._environment.update(values)
        app = await self.responding()
        if self.installed is not None:
            self.installed.state.update(values)
        if app is not None:
            app.log.add(", ".join(f"{name} is {to_text(value)}" for name, value in values.items()))

    async def responding(self) -> RunningApp | None:
        """The running app as soon as it responds; None while the home screen is shown."""
        if self.installed is None:
            return None
        await self.installed.respond()
        return self.installed if self.installed.running else None


class SimulatedView:
    """The screen of the app, or the home screen."""

    def __init__(self, app: SimulatedApp, platform: str, timer: VirtualTimer) -> None:
        self._app = app
        self._platform = platform
        self._timer = timer
        self._typed_into: tuple[RunningApp, Widget, str] | None = None

    async def tree(self, css: frozenset[str] = frozenset()) -> Element:
        app = await self._app.responding()
        return render(app, self._platform) if app is not None else home_screen(self._platform)

    async def screen_bounds(self) -> Bounds:
        return SCREEN

    async def source(self) -> PageSource:
        return PageSource(to_xml(await self.tree(), self._platform))

    async def screenshot(self) -> bytes:
        app = self._app.installed
        shown = app is not None and app.running and app.crash is None
        return draw_screen(render(app, self._platform) if app and shown else home_screen(self._platform))

    async def tap(self, target: Element | Point, *, times: int = 1) -> None:
        if hit := await self._hit(target):
            app, widget = hit
            if times > 1 and "double_tap" in widget.events:
                _trigger(app, widget, "double_tap")
            else:
                app.tap(widget)

    async def long_press(self, target: Element | Point, seconds: float = 1.0) -> None:
        hit = await self._hit(target)
        await self._timer.sleep(seconds)
        if hit:
            _trigger(*hit, "long_press")

    async def type(self, text: str, target: Element | None = None) -> None:
        app, field, variable = await self._field(target)
        typed = "".join(character for character in text if app.takes_character(field))
        limit = min(field.max_length or _FIELD_LIMIT, _FIELD_LIMIT)
        app.state[variable] = cut(to_text(app.state[variable]) + typed, limit)
        self._typed_into = (app, field, variable)

    async def field_text(self, *, focused: bool = False) -> str | None:
        if self._typed_into is None:
            return None
        app, field, variable = self._typed_into
        if field.secret or not app.running or app.crash is not None or (focused and app.focus != field.key):
            return None
        return to_text(app.state[variable])

    async def clear(self, target: Element | None = None, characters: int | None = None) -> None:
        app, _, variable = await self._field(target)
        held = to_text(app.state[variable])
        app.state[variable] = held[: max(len(held) - characters, 0)] if characters is not None else ""

    async def swipe(self, start: Point, end: Point, seconds: float = 0.4) -> None:
        await self._timer.sleep(seconds)
        app = await self._app.responding()
        dx, dy = end.x - start.x, end.y - start.y
        if app is None or max(abs(dx), abs(dy)) < _MIN_SWIPE:
            return
        if abs(dx) > abs(dy):
            self._swipe_horizontally(app, start, "swipe_left" if dx < 0 else "swipe_right")
        else:
            self._scroll(app, -dy)

    def _swipe_horizontally(self, app: RunningApp, start: Point, event: str) -> None:
        for widget in widgets_at(app, start):
            if widget.enabled.holds(app.state) and app.trigger(widget.events, event, widget.key):
                return
        app.trigger(app.screen.events, event, app.screen.name)

    def _scroll(self, app: RunningApp, distance: float) -> None:
        if distance < 0 and app.scrolled == 0 and app.trigger(app.screen.events, "refresh", app.screen.name):
            return
        _, height = layout_of(app)
        app.scrolled = min(max(app.scrolled + distance, 0.0), max(height - HEIGHT, 0.0))

    async def back(self) -> None:
        app = await self._app.responding()
        if app is not None and not app.trigger(app.screen.events, "back", app.screen.name):
            app.go_back()

    async def press_key(self, key: str) -> None:
        if key not in KEYS:
            raise script_error(f"unknown key {key}; known keys: {', '.join(KEYS)}")
        app = await self._app.responding()
        if app is None:
            return
        if key == "home":
            app.stop()
            return
        focused = next((widget for widget in present_widgets(app) if widget.key == app.focus), None)
        if focused is not None and key in ("enter", "search"):
            app.trigger(focused.events, "enter", focused.key)
        elif focused is not None and key in ("backspace", "delete"):
            await self.clear(characters=1)

    async def hide_keyboard(self) -> None:
        await self._app.responding()

    async def _hit(self, target: Element | Point) -> tuple[RunningApp, Widget] | None:
        """The app, and the element that a tap hits: the innermost one that reacts to taps, otherwise the innermost."""
        app = await self._app.responding()
        if app is None:
            return None
        under = widgets_at(app, target if isinstance(target, Point) else target.bounds.center)
        return (app, next(filter(_reacts, under), under[0])) if under else None

    async def _field(self, target: Element | None) -> tuple[RunningApp, Widget, str]:
        """The app, the field to type into, and its variable, which has the focus afterwards."""
        if target is not None:
            await self.tap(target)
        app = await self._app.responding()
        if app is not None:
            for widget in present_widgets(app):
                if widget.key == app.focus and widget.bind is not None:
                    return app, widget, widget.bind
        raise script_error(NO_FOCUS)


class SimulatedDevice:
    """A device whose app is a model. Its time is virtual; the pace says how much real time a run takes nevertheless."""

    def __init__(self, info: DeviceInfo, build: AppUnderTest, seed: Seed, pace: Pace = NO_PACE) -> None:
        self._info = info
        self.timer = VirtualTimer(pace.scale)
        self.app = SimulatedApp(build, seed, self.timer, pace)
        self.view = SimulatedView(self.app, info.platform, self.timer)
        self.recorder = FrameRecorder(self.view.screenshot)

    @property
    def info(self) -> DeviceInfo:
        return replace(self._info, built_in_model=self.app.built_in_model)

    def unsupported(self, command: BaseCommand) -> str:
        return "a simulated device has no browser" if isinstance(command, OpenBrowser) else ""

    async def begin_step(self) -> None:
        if self.app.pace.step > 0:
            await asyncio.sleep(self.app.pace.step)
        await self.recorder.add_frame()

    async def log(self) -> DeviceLog:
        return DeviceLog(self.app.installed.log.text if self.app.installed is not None else "")

    async def close(self) -> None:
        self.app.installed = None


def _trigger(app: RunningApp, widget: Widget, event: str) -> None:
    if widget.enabled.holds(app.state):
        app.trigger(widget.events, event, widget.key)


def _reacts(widget: Widget) -> bool:
    return widget.bind is not None or bool(widget.events) or widget.role is Role.FIELD

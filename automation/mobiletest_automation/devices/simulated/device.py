"""The device port over an app model: taps change the model's state, trees and screenshots are drawn from it."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from mobiletest_automation.devices.port import (
    LAUNCH,
    NO_FOCUS,
    Build,
    DeviceFailure,
    DeviceInfo,
    LaunchOptions,
    LinkTarget,
    PageSource,
    Recording,
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
from mobiletest_automation.flows.text_commands import KEYS
from mobiletest_automation.flows.texts import cut
from mobiletest_automation.flows.values import to_text
from mobiletest_automation.model.failures import Category
from mobiletest_automation.screen.elements import Bounds, Element, Point, Role

# Characters that a field takes.
_FIELD_LIMIT = 20_000

# A movement of fewer pixels is not a swipe.
_MIN_SWIPE = 24


class SimulatedDevice:
    """A device whose app is a model. Its time is virtual; `pace` says how much real time a run takes nevertheless."""

    def __init__(self, info: DeviceInfo, build: Build, seed: Seed, pace: Pace = NO_PACE) -> None:
        self.info = info
        self._build = build
        self._seed = seed
        self._pace = pace
        self.timer = VirtualTimer(pace.scale)
        self._app: RunningApp | None = None
        self._any_id = False
        self._environment: dict[str, str | float | bool] = {}
        self._recorder = FrameRecorder(self.screenshot)

    @property
    def pace(self) -> Pace:
        return self._pace

    def unsupported(self, command: BaseCommand) -> str:
        return "a simulated device has no browser" if isinstance(command, OpenBrowser) else ""

    async def begin_step(self, title: str) -> None:
        if self._pace.step > 0:
            await asyncio.sleep(self._pace.step)
        await self._recorder.add_frame()

    async def install(self, build: Build) -> None:
        self._build = build
        model = await self._model(build)
        if model.pace is not None:
            self._pace = model.pace
            self.timer = VirtualTimer(model.pace.scale)
        self._app = RunningApp(model, self._seed, self.timer)
        self._app.state.update(self._environment)

    async def _model(self, build: Build) -> AppModel:
        content = await build.read(BYTES_LIMIT + 1) if build.read is not None else b""
        try:
            model = read_artifact(content)
        except DocumentError as error:
            raise DeviceFailure(Category.ARTIFACT_INVALID, f"the build's app model cannot be used: {error}") from error
        self.info = replace(self.info, built_in_model=model is None)
        self._any_id = model is None and build.package_name is None
        return model or built_in_model()

    async def launch(self, options: LaunchOptions = LAUNCH) -> None:
        """Applies permissions and arguments as docs/app-models.md says; logs those that the model does not have."""
        app = await self._installed(options.app_id)
        if options.clear_state:
            app.clear_state()
        app.set_permissions({"all": "allow"} if options.grants_permissions else options.permissions)
        if options.stop_first or not app.running:
            await app.launch(options.arguments)

    async def stop(self, app_id: str | None = None) -> None:
        (await self._installed(app_id)).stop()

    async def kill(self, app_id: str | None = None) -> None:
        (await self._installed(app_id)).stop()

    async def clear_state(self, app_id: str | None = None) -> None:
        (await self._installed(app_id)).clear_state()

    async def clear_keychain(self) -> None:
        """A model has no keychain."""

    async def set_permissions(self, app_id: str | None, permissions: Mapping[str, str]) -> None:
        (await self._installed(app_id)).set_permissions(permissions)

    async def _installed(self, app_id: str | None) -> RunningApp:
        """The app, which is also there if its installation was skipped. DeviceFailure for another one."""
        if self._app is None:
            await self.install(self._build)
        assert self._app is not None, "it was installed"  # noqa: S101
        ids = (None, self._app.model.id, self._build.package_name)
        if app_id not in ids and not self._any_id:
            own = self._build.package_name or self._app.model.id
            message = f"{app_id} is not installed: a simulated device has only the app under test, {own}"
            raise DeviceFailure(Category.APP_LAUNCH_FAILED, message)
        return self._app

    async def tree(self, css: frozenset[str] = frozenset()) -> Element:
        app = await self._responding()
        return render(app, self.info.platform) if app is not None else home_screen(self.info.platform)

    async def screen_bounds(self) -> Bounds:
        return SCREEN

    async def source(self) -> PageSource:
        return PageSource(to_xml(await self.tree(), self.info.platform))

    async def log(self) -> str:
        return self._app.log.take() if self._app is not None else ""

    async def screenshot(self) -> bytes:
        app = self._app
        shown = app is not None and app.running and app.crash is None
        return draw_screen(render(app, self.info.platform) if app and shown else home_screen(self.info.platform))

    async def tap(self, target: Element | Point) -> None:
        if hit := await self._hit(target):
            app, widget = hit
            app.tap(widget)

    async def double_tap(self, target: Element | Point) -> None:
        if hit := await self._hit(target):
            app, widget = hit
            if "double_tap" in widget.events:
                self._trigger(app, widget, "double_tap")
            else:
                app.tap(widget)

    async def long_press(self, target: Element | Point, seconds: float = 1.0) -> None:
        hit = await self._hit(target)
        await self.timer.sleep(seconds)
        if hit:
            self._trigger(*hit, "long_press")

    async def type(self, text: str, target: Element | None = None) -> None:
        app, variable = await self._field(target)
        app.state[variable] = cut(to_text(app.state[variable]) + text, _FIELD_LIMIT)

    async def clear(self, target: Element | None = None, characters: int | None = None) -> None:
        app, variable = await self._field(target)
        held = to_text(app.state[variable])
        app.state[variable] = held[: max(len(held) - characters, 0)] if characters is not None else ""

    async def swipe(self, start: Point, end: Point, seconds: float = 0.4) -> None:
        await self.timer.sleep(seconds)
        app = await self._responding()
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
        app = await self._responding()
        if app is not None and not app.trigger(app.screen.events, "back", app.screen.name):
            app.go_back()

    async def press_key(self, key: str) -> None:
        if key not in KEYS:
            raise script_error(f"unknown key {key}; known keys: {', '.join(KEYS)}")
        app = await self._responding()
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
        await self._responding()

    async def open_link(self, url: str, target: LinkTarget = LinkTarget.ANY) -> None:
        """The model is the only app that opens links, whatever the target."""
        app = await self._installed(None)
        if url not in app.model.links:
            raise script_error(f"no app on this device handles {url}")
        if not app.running:
            await app.launch({})
        await app.respond()
        app.trigger(app.model.links, url, "link")

    async def open_browser(self, url: str) -> None:
        raise script_error("a simulated device has no browser")

    async def is_mode_on(self, mode: Mode) -> bool:
        return bool(self._environment.get(f"device.{mode}", False))

    async def set_mode(self, mode: Mode, *, on: bool) -> None:
        """Sets device.airplane_mode or device.dark_mode of the app model."""
        await self._set_environment({f"device.{mode}": on})

    async def add_media(self, name: str, content: bytes) -> None:
        """A model has no gallery: the device's log tells what was added."""
        if self._app is not None:
            self._app.log.add(f"media {name} added ({len(content)} bytes)")

    async def set_location(self, latitude: float, longitude: float) -> None:
        """Sets device.latitude and device.longitude of the app model."""
        await self._set_environment({"device.latitude": latitude, "device.longitude": longitude})

    async def set_orientation(self, orientation: Orientation) -> None:
        """Sets device.orientation and device.rotation of the app model; the screen keeps its size."""
        turned = "landscape" if orientation.startswith("landscape") else "portrait"
        await self._set_environment({"device.orientation": turned, "device.rotation": ROTATIONS[orientation]})

    async def _set_environment(self, values: Mapping[str, str | float | bool]) -> None:
        self._environment.update(values)
        app = await self._responding()
        if self._app is not None:
            self._app.state.update(values)
        if app is not None:
            app.log.add(", ".join(f"{name} is {to_text(value)}" for name, value in values.items()))

    async def start_recording(self) -> None:
        await self._recorder.start()

    async def stop_recording(self) -> Recording | None:
        return await self._recorder.stop()

    async def close(self) -> None:
        self._app = None

    async def _responding(self) -> RunningApp | None:
        """The running app as soon as it responds; None while the home screen is shown."""
        if self._app is None:
            return None
        await self._app.respond()
        return self._app if self._app.running else None

    async def _hit(self, target: Element | Point) -> tuple[RunningApp, Widget] | None:
        """The app, and the element that a tap hits: the innermost one that reacts to taps, otherwise the innermost."""
        app = await self._responding()
        if app is None:
            return None
        under = widgets_at(app, target if isinstance(target, Point) else target.bounds.center)
        return (app, next(filter(_reacts, under), under[0])) if under else None

    async def _field(self, target: Element | None) -> tuple[RunningApp, str]:
        """The app, and the variable of the field to type into, which has the focus afterwards."""
        if target is not None:
            await self.tap(target)
        app = await self._responding()
        if app is not None:
            for widget in present_widgets(app):
                if widget.key == app.focus and widget.bind is not None:
                    return app, widget.bind
        raise script_error(NO_FOCUS)

    def _trigger(self, app: RunningApp, widget: Widget, event: str) -> None:
        if widget.enabled.holds(app.state):
            app.trigger(widget.events, event, widget.key)


def _reacts(widget: Widget) -> bool:
    return widget.bind is not None or bool(widget.events) or widget.role is Role.FIELD

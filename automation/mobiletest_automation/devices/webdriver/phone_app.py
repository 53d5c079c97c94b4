"""The app under test on a phone, for Android and iOS alike."""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic

from mobiletest_automation.devices.port import (
    LAUNCH,
    AppUnderTest,
    DeviceFailure,
    LaunchOptions,
    LinkTarget,
    NoteChange,
    note_nothing,
    script_error,
)
from mobiletest_automation.devices.webdriver.driver_session import DriverSession
from mobiletest_automation.devices.webdriver.hub_connection import DriverError
from mobiletest_automation.devices.webdriver.hub_target import HubTarget, check_address
from mobiletest_automation.devices.webdriver.phone_commands import PhoneCommands
from mobiletest_automation.devices.webdriver.session_log import collect_nothing
from mobiletest_automation.flows.device_commands import Mode, Orientation
from mobiletest_automation.model.devices import DeviceChange, DeviceSetting
from mobiletest_automation.model.failures import Category
from mobiletest_automation.web_addresses import web_host

CHECK_EVERY_SECONDS = 1.0
# Characters of file names that would need quotes on a phone.
_FORBIDDEN = re.compile(r"[^A-Za-z0-9._-]")


class PhoneApp:
    """Starts and stops apps, and checks that an app that should be running is."""

    def __init__(
        self,
        driver: DriverSession,
        phone: PhoneCommands,
        target: HubTarget,
        *,
        app_id: str | None,
        app: str | None,
        named: str | None = None,
        note: NoteChange = note_nothing,
        before_launch: Callable[[], Awaitable[None]] = collect_nothing,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`app_id` is that of the app under test, if known; `app` is where the hub can read the app.

        `named` is the app that the pool names, which tests may also use without installing it. `note` is told what is
        about to be changed, and `before_launch` is called before an app is started.
        """
        self._driver = driver
        self._phone = phone
        self._target = target
        self._app_id = app_id
        self._app = app
        self._usable = phone.browsers | phone.system_apps | target.allowed_apps
        self._own = {named}
        self._clock = clock
        self._note = note
        self._before_launch = before_launch
        self._changed: set[DeviceSetting] = set()
        self._running: str | None = None
        self._checked = 0.0

    async def install(self, build: AppUnderTest) -> None:
        if self._app is None:
            return
        app_id = self._known_app_id()
        if not self._target.dedicated:
            await self._check_is_absent(app_id)
        with _reported_as(Category.APP_INSTALL_FAILED, "the app was not installed", hidden=self._app):
            await self._phone.install(self._app)
        if not self._target.dedicated and await self._phone.is_installed(app_id) is False:
            message = f"the file installs another app than {app_id}: correct the build's package_name"
            raise DeviceFailure(Category.ARTIFACT_INVALID, message)
        self._own.add(app_id)

    async def _check_is_absent(self, app_id: str) -> None:
        """A clean device has no apps but its own, which no test may replace."""
        if app_id in self._usable or await self._phone.is_installed(app_id) is True:
            message = f"{app_id} is an app of the device, which tests cannot replace: ask the operator to remove it"
            raise DeviceFailure(Category.CONFIG_INVALID, message)

    async def launch(self, options: LaunchOptions = LAUNCH) -> None:
        app_id = self._resolve_app_id(options.app_id)
        await self._before_launch()
        with _reported_as(Category.APP_LAUNCH_FAILED, f"{app_id} was not launched"):
            await self._start(app_id, options)
        self._running, self._checked = app_id, self._clock()

    async def _start(self, app_id: str, options: LaunchOptions) -> None:
        if options.stop_first or options.clear_state:
            self._running = None
            await self._phone.terminate(app_id)
        if options.clear_state:
            await self._phone.clear_data(app_id)
        if options.permissions:
            await self._phone.set_permissions(app_id, options.permissions)
        elif options.grants_permissions:
            await self._phone.grant_permissions(app_id, options)
        await self._phone.start(app_id, options)

    async def stop(self, app_id: str | None = None) -> None:
        named = self._resolve_app_id(app_id)
        self._running = None if self._running == named else self._running
        await self._phone.terminate(named)

    async def kill(self, app_id: str | None = None) -> None:
        """An app in the foreground goes on; that it has ended is no longer a crash in either case."""
        named = self._resolve_app_id(app_id)
        self._running = None if self._running == named else self._running
        await self._phone.kill(named)

    async def clear_keychain(self) -> None:
        await self._phone.clear_keychain()

    async def set_permissions(self, app_id: str | None, permissions: Mapping[str, str]) -> None:
        """The system may end the app when it loses a permission, which is not a crash."""
        named = self._resolve_app_id(app_id)
        self._running = None if self._running == named else self._running
        await self._phone.set_permissions(named, permissions)

    async def clear_state(self, app_id: str | None = None) -> None:
        await self.stop(app_id)
        await self._phone.clear_data(self._resolve_app_id(app_id))

    async def open_link(self, url: str, target: LinkTarget = LinkTarget.ANY) -> None:
        await check_address(self._target.addresses, url, Category.SCRIPT_ERROR, "the link")
        if web_host(url) is not None and self._phone.lasting_browser is not None:
            self._check_may_use(self._phone.lasting_browser)
        chosen = self._phone.link_browser if target is LinkTarget.BROWSER else None
        await self._phone.open_link(url, self._known_app_id() if target is LinkTarget.OWN_APP else chosen)

    async def is_mode_on(self, mode: Mode) -> bool:
        return await self._phone.is_mode_on(mode)

    async def set_mode(self, mode: Mode, *, on: bool) -> None:
        if (setting := DeviceSetting(mode)) not in self._changed:
            await self._note_once(setting, await self._phone.mode_value(mode))
        await self._phone.set_mode(mode, on=on)

    async def add_media(self, name: str, content: bytes) -> None:
        path = self._phone.media_path(_FORBIDDEN.sub("_", name))
        if self._phone.removes_media:
            await self._note(DeviceChange(DeviceSetting.MEDIA, path))
        await self._phone.push_file(path, content)

    async def _note_once(self, setting: DeviceSetting, before: str) -> None:
        await self._note(DeviceChange(setting, before))
        self._changed.add(setting)

    async def set_location(self, latitude: float, longitude: float) -> None:
        if DeviceSetting.LOCATION not in self._changed:
            await self._note_once(DeviceSetting.LOCATION, "")
        await self._phone.set_location(latitude, longitude)

    async def set_orientation(self, orientation: Orientation) -> None:
        if DeviceSetting.ORIENTATION not in self._changed:
            await self._note_once(DeviceSetting.ORIENTATION, await self._driver.orientation())
        await self._phone.set_orientation(orientation)

    async def check(self) -> None:
        """Check that the app runs.

        Raises:
            DeviceFailure: the app has ended without being stopped (app_crash).
        """
        now = self._clock()
        if self._running is None or now - self._checked < CHECK_EVERY_SECONDS:
            return
        self._checked = now
        if not await self._phone.is_running(self._running):
            raise DeviceFailure(Category.APP_CRASH, f"{self._running} is no longer running: it has crashed or quit")

    def _resolve_app_id(self, app_id: str | None) -> str:
        if app_id is not None and app_id.lower().startswith(("http://", "https://")):
            raise script_error(f"{app_id} is a web page, not an app of this device: open it with openLink")
        named = app_id or self._known_app_id()
        self._check_may_use(named)
        return named

    def _check_may_use(self, app_id: str) -> None:
        """On devices of several organisations: the app that was installed, some of the system's, and those allowed."""
        if self._target.dedicated or app_id in self._own or app_id in self._usable:
            return
        known = ", ".join(sorted(self._usable))
        raise script_error(
            f"{app_id} cannot be used: on devices that organisations share, tests use the app that they installed and "
            f"{known}; allowed_apps of the device pool allows others"
        )

    def _known_app_id(self) -> str:
        if self._app_id is None:
            raise DeviceFailure(
                Category.CONFIG_INVALID,
                "unknown app under test: the build has no package name, and the pool names no app "
                "(capability appium:appPackage or appium:bundleId)",
            )
        return self._app_id


@contextmanager
def _reported_as(category: Category, what: str, *, hidden: str | None = None) -> Iterator[None]:
    """Errors of the driver inside the block get this category, unless the session is lost.

    `hidden` does not appear in their messages.
    """
    try:
        yield
    except DriverError as error:
        if error.category is Category.SESSION_LOST:
            raise
        message = error.message.replace(hidden, "the file") if hidden else error.message
        raise DeviceFailure(category, f"{what}: {message}") from error

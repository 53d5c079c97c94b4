"""A web build in a browser: the app is a page, its data the browser's data of the page's origin."""

import re
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from mobiletest_automation.devices.port import (
    LAUNCH,
    AppUnderTest,
    DeviceFailure,
    LaunchOptions,
    LinkTarget,
    script_error,
)
from mobiletest_automation.devices.webdriver.driver_session import DriverSession
from mobiletest_automation.devices.webdriver.hub_connection import OPEN_ALERT, DriverError, Json
from mobiletest_automation.devices.webdriver.hub_target import check_address
from mobiletest_automation.devices.webdriver.session_log import collect_nothing
from mobiletest_automation.flows.app_commands import Argument
from mobiletest_automation.flows.device_commands import ROTATIONS, Mode, Orientation
from mobiletest_automation.model.failures import Category
from mobiletest_automation.web_addresses import PUBLIC_ONLY, AddressPolicy

_FULL_SPEED: Mapping[str, Json] = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)", re.ASCII)
BLANK = "about:blank"
# Names of permissions, and their names in Browser.grantPermissions.
_PERMISSIONS = {
    "camera": "videoCapture",
    "clipboard": "clipboardReadWrite",
    "location": "geolocation",
    "microphone": "audioCapture",
    "midi": "midi",
    "motion": "sensors",
    "notifications": "notifications",
}
# Names of permissions, and their names in Browser.setPermission.
_DESCRIPTORS = {
    "camera": ("camera",),
    "clipboard": ("clipboard-read", "clipboard-write"),
    "location": ("geolocation",),
    "microphone": ("microphone",),
    "midi": ("midi",),
    "motion": ("accelerometer", "gyroscope", "magnetometer"),
    "notifications": ("notifications",),
}
_SETTINGS = {
    **dict.fromkeys(("allow", "always", "inuse", "limited"), "granted"),
    **dict.fromkeys(("deny", "never"), "denied"),
    "unset": "prompt",
}
_SCREENS = {
    "portrait": "portraitPrimary",
    "landscape_left": "landscapePrimary",
    "landscape_right": "landscapeSecondary",
    "upside_down": "portraitSecondary",
}


class BrowserApp:
    """For chromedriver; uses the DevTools protocol where WebDriver has no command."""

    def __init__(
        self,
        driver: DriverSession,
        build: AppUnderTest,
        addresses: AddressPolicy = PUBLIC_ONLY,
        *,
        before_launch: Callable[[], Awaitable[None]] = collect_nothing,
    ) -> None:
        """`before_launch` is called before a page is opened by a launch."""
        self._driver = driver
        self._before_launch = before_launch
        self._addresses = addresses
        self._build = build
        self._offline = False

    async def install(self, build: AppUnderTest) -> None:
        self._build = build

    async def launch(self, options: LaunchOptions = LAUNCH) -> None:
        url = with_arguments(self._page(options.app_id), options.arguments)
        await check_address(self._addresses, url, Category.CONFIG_INVALID, "the page")
        await self._dismiss()
        await self._before_launch()
        here = await self._driver.url()
        if not options.stop_first and not options.clear_state and origin(here) == origin(url):
            return
        if options.clear_state:
            await self._clear_data(here, url)
        elif here != BLANK:
            await self._driver.open_url(BLANK)
        if options.permissions:
            await self._set_permissions(origin(url), options.permissions)
        await self._open(url, Category.APP_LAUNCH_FAILED)

    async def stop(self, app_id: str | None = None) -> None:
        await self._dismiss()
        await self._driver.open_url(BLANK)

    async def kill(self, app_id: str | None = None) -> None:
        await self.stop(app_id)

    async def clear_keychain(self) -> None:
        """A browser has no keychain."""

    async def set_permissions(self, app_id: str | None, permissions: Mapping[str, str]) -> None:
        where = origin(self._page(app_id))
        named = {name: permissions["all"] for name in _DESCRIPTORS if "all" in permissions}
        for name, answer in {**named, **permissions}.items():
            if name != "all":
                await self._set_permission(where, name, answer)

    async def _set_permission(self, where: str, name: str, answer: str) -> None:
        for descriptor in _DESCRIPTORS[_known_permission(name)]:
            asked: dict[str, Json] = {"name": descriptor}
            await self._driver.cdp("Browser.setPermission", permission=asked, setting=_SETTINGS[answer], origin=where)

    async def clear_state(self, app_id: str | None = None) -> None:
        await self._dismiss()
        await self._clear_data(await self._driver.url(), self._page(app_id))

    async def open_link(self, url: str, target: LinkTarget = LinkTarget.ANY) -> None:
        """An address without a scheme is one of the web. The browser itself opens it, whatever the target."""
        url = url if _SCHEME.match(url) else f"https://{url}"
        if not _is_web(url):
            raise script_error("a browser can only open http and https links")
        await check_address(self._addresses, url, Category.SCRIPT_ERROR, "the link")
        await self._dismiss()
        await self._open(url, Category.SCRIPT_ERROR)

    async def is_mode_on(self, mode: Mode) -> bool:
        if mode is Mode.AIRPLANE:
            return self._offline
        return await self._driver.execute("return matchMedia('(prefers-color-scheme: dark)').matches") is True

    async def set_mode(self, mode: Mode, *, on: bool) -> None:
        """Of the session's own browser, which ends with it. Without a network, pages are as in airplane mode."""
        if mode is Mode.AIRPLANE:
            await self._driver.cdp("Network.enable")
            await self._driver.cdp("Network.emulateNetworkConditions", offline=on, **_FULL_SPEED)
            self._offline = on
        else:
            scheme: list[Json] = [{"name": "prefers-color-scheme", "value": "dark" if on else "light"}]
            await self._driver.cdp("Emulation.setEmulatedMedia", features=scheme)

    async def add_media(self, name: str, content: bytes) -> None:
        raise script_error("a browser has no gallery")

    async def set_location(self, latitude: float, longitude: float) -> None:
        here = await self._driver.url()
        page = here if _is_web(here) else self._page(None)
        geolocation: dict[str, Json] = {"name": "geolocation"}
        await self._driver.cdp("Browser.setPermission", permission=geolocation, setting="granted", origin=origin(page))
        await self._driver.cdp("Emulation.setGeolocationOverride", latitude=latitude, longitude=longitude, accuracy=1)

    async def set_orientation(self, orientation: Orientation) -> None:
        viewport = await self._driver.viewport()
        short, long = sorted((viewport.width, viewport.height))
        wide = orientation.startswith("landscape")
        width, height = (long, short) if wide else (short, long)
        turned: dict[str, Json] = {
            "type": _SCREENS[orientation],
            "angle": ROTATIONS[orientation],
        }
        await self._driver.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=round(width),
            height=round(height),
            deviceScaleFactor=0,
            mobile=False,
            screenOrientation=turned,
        )

    def _page(self, app_id: str | None) -> str:
        if app_id is not None and _is_web(app_id):
            return app_id
        if app_id is not None and app_id != self._build.package_name:
            raise DeviceFailure(Category.APP_LAUNCH_FAILED, f"a browser has no app {app_id}; give the URL of a page")
        if not self._build.static_url:
            raise DeviceFailure(
                Category.CONFIG_INVALID, "this device is a browser and can only run a build with a static_url"
            )
        if not _is_web(self._build.static_url):
            raise DeviceFailure(Category.CONFIG_INVALID, "the build's static_url is not an http(s) URL")
        return self._build.static_url

    async def _dismiss(self) -> None:
        """Dismiss a dialog of the browser, which blocks every other command."""
        try:
            await self._driver.post("/alert/dismiss")
        except DriverError as error:
            if error.code != "no such alert":
                raise

    async def _open(self, url: str, category: Category) -> None:
        try:
            await self._driver.open_url(url)
            shown = await self._driver.execute("return document.URL")
        except DriverError as error:
            if error.code == OPEN_ALERT:
                return  # the page is open and shows a dialog
            if "net::" not in error.message and error.code not in ("timeout", "invalid argument"):
                raise
            raise DeviceFailure(category, f"{url} could not be opened: {error.message}") from error
        if str(shown).startswith("chrome-error:"):
            raise DeviceFailure(category, f"{url} could not be opened")

    async def _clear_data(self, here: str, url: str) -> None:
        """Delete cookies, cache and storage; session storage only while a page of the origin is open."""
        if origin(here) == origin(url):
            await self._driver.execute("try { sessionStorage.clear() } catch {}")
        await self._driver.open_url(BLANK)
        await self._driver.cdp("Storage.clearDataForOrigin", origin=origin(url), storageTypes="all")
        await self._driver.cdp("Network.clearBrowserCookies")
        await self._driver.cdp("Network.clearBrowserCache")

    async def _set_permissions(self, where: str, permissions: Mapping[str, str]) -> None:
        known = {name: permissions.get(name, permissions.get("all", "unset")) for name in _PERMISSIONS}
        for name in sorted(set(permissions) - {"all"}):
            _known_permission(name)
        granted: list[Json] = [_PERMISSIONS[name] for name, answer in known.items() if _SETTINGS[answer] == "granted"]
        await self._driver.cdp("Browser.resetPermissions")
        if any(_SETTINGS[answer] != "prompt" for answer in known.values()):
            await self._driver.cdp("Browser.grantPermissions", permissions=granted, origin=where)


def _known_permission(name: str) -> str:
    if name not in _PERMISSIONS:
        raise script_error(f"unknown permission {name}; known permissions: all, {', '.join(sorted(_PERMISSIONS))}")
    return name


def _is_web(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


def origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else url


def with_arguments(url: str, arguments: Mapping[str, Argument]) -> str:
    """The URL with launch arguments as query parameters."""
    if not arguments:
        return url
    parts = urlsplit(url)
    values = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in arguments.items()}
    query = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in values]
    return urlunsplit(parts._replace(query=urlencode([*query, *values.items()])))

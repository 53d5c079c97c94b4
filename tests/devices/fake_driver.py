"""Appium's fake driver, whose app is an XML file, as a driver that the executor and `run --local` can use.

It is an entry point of tests/plugins, which pytest and the workers of tests have on their path.
"""

from collections.abc import Mapping

from mobiletest_automation.devices.port import (
    LAUNCH,
    NO_FOCUS,
    AppUnderTest,
    DeviceFailure,
    LaunchOptions,
    LinkTarget,
    PageSource,
    script_error,
)
from mobiletest_automation.devices.recording import FrameRecorder
from mobiletest_automation.devices.webdriver import actions
from mobiletest_automation.devices.webdriver.device import DriverView, WebDriverDevice
from mobiletest_automation.devices.webdriver.driver_session import DriverSession
from mobiletest_automation.devices.webdriver.drivers import Driver, HubSession
from mobiletest_automation.devices.webdriver.session_log import SessionLog
from mobiletest_automation.flows.app_commands import OpenBrowser, OpenLink, SetPermissions
from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.device_commands import AddMedia, AssertMode, Mode, Orientation, SetMode
from mobiletest_automation.flows.text_commands import Back, PressKey
from mobiletest_automation.model.failures import Category
from mobiletest_automation.screen.elements import CHECKABLE, NOWHERE, Bounds, Element, Point, Role, walk
from mobiletest_automation.screen.page_source.html_semantics import role_of
from mobiletest_automation.screen.page_source.nodes import (
    SourceNode,
    build_elements,
    is_on_screen,
    parse_number,
    walk_nodes,
)
from mobiletest_automation.screen.page_source.reader import read_xml

_UNSUPPORTED = (AddMedia, AssertMode, Back, OpenBrowser, OpenLink, PressKey, SetMode, SetPermissions)
# A MockTextField is a text: the driver types into a MockInputField only.
_ROLES: Mapping[str, Role] = {
    **dict.fromkeys(("AppiumAUT", "app"), Role.SCREEN),
    "Button": Role.BUTTON,
    "Link": Role.LINK,
    **dict.fromkeys(("InputField", "Input", "SecureField", "SearchField"), Role.FIELD),
    **dict.fromkeys(("CheckBox", "Checkbox"), Role.CHECKBOX),
    **dict.fromkeys(("Switch", "Toggle"), Role.SWITCH),
    **dict.fromkeys(("Radio", "RadioButton"), Role.RADIO),
    "Tab": Role.TAB,
    **dict.fromkeys(("ListItem", "Cell", "Row"), Role.CELL),
    **dict.fromkeys(("Picker", "Spinner"), Role.PICKER),
    "Slider": Role.SLIDER,
    **dict.fromkeys(("Image", "ImageView"), Role.IMAGE),
    **dict.fromkeys(("Heading", "Title"), Role.HEADING),
    **dict.fromkeys(("TextField", "Text", "TextView", "Label", "StaticText"), Role.TEXT),
    **dict.fromkeys(("ListView", "List", "Table"), Role.LIST),
    **dict.fromkeys(("Alert", "Dialog", "alert"), Role.DIALOG),
    **dict.fromkeys(("Progress", "ProgressBar"), Role.PROGRESS),
}

_HEAD = frozenset({"head", "title", "script", "style"})


class FakeApp:
    """The app is loaded with the session; it cannot be started or stopped."""

    def __init__(self, driver: DriverSession) -> None:
        self._driver = driver

    async def install(self, build: AppUnderTest) -> None:
        return None

    async def launch(self, options: LaunchOptions = LAUNCH) -> None:
        return None

    async def stop(self, app_id: str | None = None) -> None:
        return None

    async def kill(self, app_id: str | None = None) -> None:
        return None

    async def clear_state(self, app_id: str | None = None) -> None:
        return None

    async def clear_keychain(self) -> None:
        return None

    async def set_permissions(self, app_id: str | None, permissions: Mapping[str, str]) -> None:
        raise script_error("the fake driver has no permissions")

    async def open_link(self, url: str, target: LinkTarget = LinkTarget.ANY) -> None:
        raise script_error("the fake driver cannot open links")

    async def is_mode_on(self, mode: Mode) -> bool:
        raise script_error(f"the fake driver has no {mode.words}")

    async def set_mode(self, mode: Mode, *, on: bool) -> None:
        raise script_error(f"the fake driver has no {mode.words}")

    async def add_media(self, name: str, content: bytes) -> None:
        raise script_error("the fake driver has no gallery")

    async def set_location(self, latitude: float, longitude: float) -> None:
        await self._driver.set_location(latitude, longitude)

    async def set_orientation(self, orientation: Orientation) -> None:
        await self._driver.set_orientation("landscape" if orientation.startswith("landscape") else "portrait")


class FakeView(DriverView):
    """Acts on elements by the driver's own ids, found by their attributes: its pointer actions have no effect."""

    def __init__(self, driver: DriverSession) -> None:
        super().__init__(driver)
        self._tree: Element | None = None
        self._focus = ""

    async def _read_tree(self, css: frozenset[str]) -> Element:
        self._tree = _read_app(read_xml(await self._driver.source()))
        return self._tree

    async def _measure_screen(self) -> Bounds:
        return (await self._read_tree(frozenset())).bounds

    async def source(self) -> PageSource:
        return PageSource(await self._driver.source())

    async def tap(self, target: Element | Point, *, times: int = 1) -> None:
        if isinstance(target, Point):
            await self._driver.perform(actions.tap(target, times=times))
            return
        element_id = await self._driver_id(target)
        for _ in range(times):
            await self._driver.click(element_id)
        self._focus = element_id

    async def long_press(self, target: Element | Point, seconds: float = 1.0) -> None:
        point = target if isinstance(target, Point) else target.bounds.center
        await self._driver.perform(actions.long_press(point, seconds), lasting=seconds)

    async def type(self, text: str, target: Element | None = None) -> None:
        await self._driver.send_keys(await self._focused(target), text)

    async def field_text(self, *, focused: bool = False) -> str | None:
        """The driver replaces the text of a field."""
        return None

    async def clear(self, target: Element | None = None, characters: int | None = None) -> None:
        element_id = await self._focused(target)
        if characters is None:
            await self._driver.clear(element_id)
        else:
            text = await self._driver.text(element_id)
            await self._driver.send_keys(element_id, text[: max(len(text) - characters, 0)])

    async def back(self) -> None:
        await self._driver.back()

    async def press_key(self, key: str) -> None:
        raise script_error("the fake driver has no keys")

    async def hide_keyboard(self) -> None:
        return None

    async def _focused(self, target: Element | None) -> str:
        """The driver's id of the element, or of the one that was tapped last."""
        if target is not None:
            self._focus = await self._driver_id(target)
        if not self._focus:
            raise script_error(NO_FOCUS)
        return self._focus

    async def _driver_id(self, target: Element) -> str:
        """The driver's id of the element: of those with the same attributes, the one at the same position."""
        alike = [each for each in walk(self._tree or target) if dict(each.attributes) == dict(target.attributes)]
        place = next((number for number, each in enumerate(alike) if each is target), 0)
        element_ids = await self._driver.find_all("xpath", _locator(target))
        if place >= len(element_ids):
            raise DeviceFailure(Category.ELEMENT_NOT_FOUND, f"{target.describe()} is no longer on the screen")
        return element_ids[place]


def _locator(target: Element) -> str:
    said = [f"@{name}={_literal(value)}" for name, value in target.attributes.items() if name.isidentifier()]
    return f"//*[{' and '.join(said)}]" if said else "//*[not(@*)]"


def _literal(value: str) -> str:
    """A string literal of XPath 1.0, which has no escapes."""
    if '"' not in value:
        return f'"{value}"'
    parts = ", '\"', ".join(f'"{part}"' for part in value.split('"'))
    return f"concat({parts})"


def _read_app(root: SourceNode) -> Element:
    """The app as elements. Alerts are not visible, because the source does not say which one is open."""
    app = root if root.tag == "app" else next((node for node in root.nodes if node.tag == "app"), root)
    width, height = _size(app.attributes)
    screen = Bounds(0, 0, width, height) if width and height else None
    return build_elements(walk_nodes(app), lambda node, children: _element(node, children, screen))


def _element(node: SourceNode, children: tuple[Element, ...], screen: Bounds | None) -> Element:
    has = node.attributes
    role = _ROLES.get(node.tag.removeprefix("Mock")) or role_of(node.tag.lower(), has)
    bounds = screen if node.tag == "app" else _bounds(has)
    return Element(
        role=role,
        text=has.get("text") or node.direct_text or has.get("value", ""),
        label=has.get("label") or has.get("name", ""),
        hint=has.get("hint") or has.get("placeholder", ""),
        id=has.get("id", ""),
        bounds=bounds or NOWHERE,
        enabled=has.get("enabled") != "false",
        visible=_visible(node, bounds, screen, children),
        checked=_true(has, "checked") or _true(has, "selected") if role in CHECKABLE else None,
        focused=_true(has, "focused"),
        selected=_true(has, "selected"),
        clickable="showAlert" in has or _true(has, "clickable"),
        secret=_true(has, "password") or node.tag.endswith("SecureTextField"),
        attributes=has,
        children=children,
    )


def _visible(node: SourceNode, bounds: Bounds | None, screen: Bounds | None, children: tuple[Element, ...]) -> bool:
    said = {node.attributes.get("visible"), node.attributes.get("displayed")}
    if "false" in said or node.tag == "alert" or node.tag in _HEAD:
        return False
    return is_on_screen(bounds, screen) or any(child.visible for child in children)


def _true(has: Mapping[str, str], name: str) -> bool:
    return has.get(name) == "true"


def _size(has: Mapping[str, str]) -> tuple[float | None, float | None]:
    return parse_number(has.get("width")), parse_number(has.get("height"))


def _bounds(has: Mapping[str, str]) -> Bounds | None:
    """Bounds with left and top 0 if missing; None for an element without a size."""
    width, height = _size(has)
    if width is None or height is None:
        return None
    return Bounds(parse_number(has.get("left")) or 0, parse_number(has.get("top")) or 0, width, height)


def _unsupported(command: BaseCommand) -> str:
    return f"the fake driver has no {type(command).__name__}" if isinstance(command, _UNSUPPORTED) else ""


def _assemble(session: HubSession) -> WebDriverDevice:
    driver = session.driver
    return WebDriverDevice(
        info=session.info,
        target=session.target,
        driver=driver,
        app=FakeApp(driver),
        view=FakeView(driver),
        recorder=FrameRecorder(driver.screenshot),
        unsupported=_unsupported,
        session_log=SessionLog(driver, "actions"),
    )


DRIVER = Driver(assemble=_assemble, loads_app=True)

"""A page in a browser: elements from its live DOM, acted on by touch and keyboard."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

from mobiletest_automation.devices.port import NO_FOCUS, DeviceFailure, PageSource, script_error
from mobiletest_automation.devices.webdriver import actions
from mobiletest_automation.devices.webdriver.device import DriverView, check_nothing
from mobiletest_automation.devices.webdriver.driver_session import DriverSession
from mobiletest_automation.devices.webdriver.hub_connection import OPEN_ALERT, DriverError, Json
from mobiletest_automation.devices.webdriver.page_snapshot import (
    PageNode,
    describe_node,
    page_error,
    query_page,
    take_snapshot,
)
from mobiletest_automation.model.failures import Category
from mobiletest_automation.screen.elements import Bounds, Element, Point, Role

SNAPSHOT_LIMIT = 16
UNCOVERED_WITHIN_SECONDS = 3.0
# A longer text is inserted at once, because each key takes milliseconds.
PASTED_CHARACTERS = 300
_PAUSE_SECONDS = 0.05
_ANSWERS = {actions.WEB_KEYS["enter"]: "accept", actions.WEB_KEYS["escape"]: "dismiss"}


class WebView(DriverView):
    """For browsers."""

    def __init__(
        self,
        driver: DriverSession,
        check_app: Callable[[], Awaitable[None]] = check_nothing,
        *,
        by_element: bool = False,
    ) -> None:
        """`by_element`: clicks and keys use the driver's element commands, where it has no W3C actions for pages."""
        super().__init__(driver, check_app)
        self._by_element = by_element
        self._trees: deque[Mapping[Element, PageNode]] = deque(maxlen=SNAPSHOT_LIMIT)
        self._alert: _Alert | None = None
        self._typed_into: dict[str, Json] | None = None

    async def _read_tree(self, css: frozenset[str]) -> Element:
        try:
            root, nodes = await take_snapshot(self._driver, css)
        except DriverError as error:
            if error.code != OPEN_ALERT:
                raise
            self._alert = await _open_alert(self._driver)
            return self._alert.tree
        self._alert = None
        self._trees.append(nodes)
        return root

    async def _measure_screen(self) -> Bounds:
        return await self._driver.viewport()

    async def source(self) -> PageSource:
        html = (await query_page(self._driver, "source")).get("html")
        if not isinstance(html, str):
            raise page_error("it has no source")
        return PageSource(html, "text/html")

    async def tap(self, target: Element | Point, *, times: int = 1) -> None:
        if self._alert is not None and target in (self._alert.accept, self._alert.dismiss):
            await self._answer("accept" if target is self._alert.accept else "dismiss")
            return
        aimed = await self._aim_at(target, picks=times == 1)
        if aimed.element is not None:
            for _ in range(times):
                await self._driver.click(aimed.element)
        elif aimed.point is not None:
            # Chromium does not turn two touch taps into a double click
            pointer = "touch" if times == 1 else "mouse"
            await self._driver.perform(actions.tap(aimed.point, times=times, pointer=pointer))

    async def long_press(self, target: Element | Point, seconds: float = 1.0) -> None:
        aimed = await self._aim_at(target, picks=False)
        if aimed.point is not None:
            await self._driver.perform(actions.long_press(aimed.point, seconds), lasting=seconds)

    async def type(self, text: str, target: Element | None = None) -> None:
        if self._alert is not None:
            await self._driver.post("/alert/text", {"text": text})
            return
        field = await self._field(target, select_all=False)
        self._typed_into = None
        if "put" in field:
            await self._put(field, text)
        else:
            self._typed_into = {"token": field.get("token"), "number": field.get("number")}
            await self._write(text, at_end=not field.get("end"))

    async def field_text(self, *, focused: bool = False) -> str | None:
        if self._typed_into is None or self._alert is not None:
            return None
        try:
            held = await query_page(self._driver, "held", **self._typed_into)
        except DriverError as error:
            if error.code != OPEN_ALERT:
                raise
            return None
        text = held.get("text")
        return text if isinstance(text, str) and (held.get("focused") or not focused) else None

    async def _write(self, text: str, *, at_end: bool) -> None:
        """Type key by key; a long text is inserted like a pasted one."""
        text = text.replace("\r\n", "\n")
        before = [] if at_end else [actions.END]
        if len(text) <= PASTED_CHARACTERS or self._by_element:
            await self._keys(before + [actions.TYPED_KEYS.get(each, each) for each in text])
            return
        if before:
            await self._keys(before)
        await self._driver.cdp("Input.insertText", text=text)

    async def clear(self, target: Element | None = None, characters: int | None = None) -> None:
        field = await self._field(target, select_all=characters is None)
        if "put" in field:
            await self._put(field, "")
        elif not field.get("empty"):
            backwards = [actions.BACKSPACE] * (1 if characters is None else characters)
            await self._keys(([actions.END] if field.get("end") and characters is not None else []) + backwards)

    async def back(self) -> None:
        if self._alert is not None:
            await self._answer("dismiss")
        else:
            await self._driver.back()

    async def press_key(self, key: str) -> None:
        pressed = actions.find_key(actions.WEB_KEYS, key, "a browser")
        if self._alert is None:
            await self._keys([pressed])
        elif pressed in _ANSWERS:
            await self._answer(_ANSWERS[pressed])
        else:
            raise script_error(f"a dialog of the browser only takes the keys enter and escape, not {key}")

    async def hide_keyboard(self) -> None:
        await query_page(self._driver, "blur")

    async def _answer(self, answer: str) -> None:
        self._alert = None
        await self._driver.post(f"/alert/{answer}")

    async def _aim_at(self, target: Element | Point, *, picks: bool) -> "_TapTarget":
        """Where a tap hits the target, once it is stationary and not covered."""
        if isinstance(target, Point):
            return _TapTarget(point=target)
        node = self._node(target)
        deadline = monotonic() + UNCOVERED_WITHIN_SECONDS
        while True:
            answer = await query_page(
                self._driver, "aim", token=node.token, number=node.number, picks=picks, refer=self._by_element
            )
            if "x" in answer:
                return _TapTarget(_point(answer), answer.get("element"))
            if "done" in answer:
                return _TapTarget()
            if "gone" in answer:
                raise _gone_error(target)
            if "disabled" in answer:
                raise script_error(f"{target.describe()} is disabled")
            if monotonic() >= deadline:
                raise _unreachable_error(target, answer)
            await asyncio.sleep(_PAUSE_SECONDS)

    def _node(self, target: Element) -> PageNode:
        for nodes in reversed(self._trees):
            if target in nodes:
                return nodes[target]
        raise _gone_error(target)

    async def _field(self, target: Element | None, *, select_all: bool) -> dict[str, Any]:
        asked: dict[str, Json] = {"all": select_all}
        if target is not None:
            if not target.focused:
                await self.tap(target)
            node = self._node(target)
            asked |= {"token": node.token, "number": node.number}
        field = await query_page(self._driver, "field", **asked)
        if target is not None and "gone" in field:
            raise _gone_error(target)
        if "refused" in field:
            what = target.describe() if target is not None else describe_node(field["refused"])
            locked = ", which cannot be changed" if target is None and "locked" in field else ""
            raise script_error(f"{NO_FOCUS}, but {what}{locked}")
        return field

    async def _put(self, field: Mapping[str, Any], text: str) -> None:
        held = await query_page(self._driver, "put", token=field.get("token"), number=field["put"], text=text)
        if text and held.get("held") != text:
            raise script_error(f'the field does not accept "{text}"; write dates as 2026-01-31 and times as 13:45')

    async def _keys(self, values: list[str]) -> None:
        if self._by_element:
            await self._driver.send_keys(await self._driver.active(), "".join(values))
        else:
            await self._driver.perform(actions.press_keys(values), lasting=len(values) * 0.05)


@dataclass(frozen=True, slots=True)
class _TapTarget:
    """Where to tap; neither point nor element if page.js has already done it."""

    point: Point | None = None
    element: str | None = None


@dataclass(frozen=True, slots=True)
class _Alert:
    """A dialog of the browser itself, which is not part of the page."""

    tree: Element
    accept: Element
    dismiss: Element


async def _open_alert(driver: DriverSession) -> _Alert:
    text = str(await driver.get("/alert/text"))
    accept = Element(role=Role.BUTTON, text="OK", bounds=Bounds(0, 40, 100, 40))
    dismiss = Element(role=Role.BUTTON, text="Cancel", bounds=Bounds(100, 40, 100, 40))
    words = Element(role=Role.TEXT, text=text, bounds=Bounds(0, 0, 200, 40))
    dialog = Element(role=Role.DIALOG, bounds=Bounds(0, 0, 200, 80), children=(words, accept, dismiss))
    root = Element(role=Role.SCREEN, bounds=Bounds(0, 0, 200, 80), children=(dialog,))
    return _Alert(root, accept, dismiss)


def _point(answer: Mapping[str, Any]) -> Point:
    x, y = answer["x"], answer.get("y")
    if isinstance(x, int | float) and isinstance(y, int | float):
        return Point(x, y)
    raise page_error("it has no place to tap")


def _gone_error(target: Element) -> DeviceFailure:
    return DeviceFailure(Category.ELEMENT_NOT_FOUND, f"{target.describe()} is no longer on the page")


def _unreachable_error(target: Element, answer: Mapping[str, Any]) -> DeviceFailure:
    uncovered = "was outside the screen" if "outside" in answer else "was still moving"
    why = f"was covered by {describe_node(answer['covered'])}" if "covered" in answer else uncovered
    return DeviceFailure(
        Category.STEP_TIMEOUT, f"{target.describe()} {why} for {UNCOVERED_WITHIN_SECONDS:g} s and was not tapped"
    )

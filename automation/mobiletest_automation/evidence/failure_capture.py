"""Captures what shows why an attempt failed: a screenshot, the UI tree behind it, the device's log.

A capture that fails is noted and ignored: it changes no verdict, and takes no longer than the limits below.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from mobiletest_automation import logs
from mobiletest_automation.devices.port import Device, DeviceFailure, PageSource
from mobiletest_automation.evidence.recorder import StepRecorder
from mobiletest_automation.model.results import ScreenArea
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.identity import area_of

# For a screenshot and a tree together.
CAPTURE_SECONDS = 10.0
# For everything once the run is out of time.
LATE_SECONDS = 3.0
LOG_SECONDS = 5.0
MARGIN_SECONDS = 0.25
TREE_BYTES = 4 * 1024 * 1024
LOG_BYTES = 1024 * 1024

# Instead of the name of an artifact.
NOTHING_TO_STORE = "-"

T = TypeVar("T")
log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class CapturedScreen:
    """Names of artifacts, where the element is on the screenshot, what could not be captured, and the screenshot."""

    screenshot: str = ""
    tree: str = ""
    missing: tuple[str, ...] = ()
    element_area: ScreenArea | None = None
    picture: bytes | None = field(default=None, repr=False)


class FailureCapture:
    """For one attempt. `device` is set once there is one; a device that did not answer is not asked again."""

    def __init__(self, recorder: StepRecorder, run_seconds: float, *, capture_seconds: float = CAPTURE_SECONDS) -> None:
        """In `run_seconds` the run is out of time: a capture must not delay a failure until then."""
        self._recorder = recorder
        self._run_ends = _time() + run_seconds - MARGIN_SECONDS
        self._capture_seconds = capture_seconds
        self._unresponsive = False
        self.device: Device | None = None

    async def capture_screen(
        self, index: int | None, element: Element | None = None, *, late: bool = False
    ) -> CapturedScreen:
        """For a step, with the element concerned, or for an end outside of all steps. Never raises."""
        device, recorder = self.device, self._recorder
        if device is None:
            return CapturedScreen()

        async def store_tree(source: PageSource) -> str:
            masked = replace(source, content=recorder.secrets.mask(source.content))
            return await recorder.store_page_source(index, _truncate(masked))

        picture: bytes | None = None

        async def store_screenshot(taken: bytes) -> str:
            nonlocal picture
            picture = taken
            return await recorder.store_screenshot(index, taken)

        until = _time() + LATE_SECONDS if late else min(_time() + self._capture_seconds, self._run_ends)
        missing: list[str] = []
        screenshot = await self._capture("screenshot", device.view.screenshot, store_screenshot, until, missing)
        tree = await self._capture("UI tree", device.view.source, store_tree, until, missing)
        area = await self._locate(element, device, until) if element is not None and screenshot else None
        return CapturedScreen(screenshot, tree, tuple(missing), area, picture)

    async def capture_log(self, *, late: bool = False) -> None:
        """The end of the device's log. Never raises."""
        if self.device is None:
            return

        async def store(text: str) -> str:
            masked = self._recorder.secrets.mask(text)
            return await self._recorder.store_log(_tail(masked)) if text else NOTHING_TO_STORE

        until = _time() + (LATE_SECONDS if late else LOG_SECONDS)
        await self._capture("device log", self.device.log, store, until, [])

    async def _locate(self, element: Element, device: Device, until: float) -> ScreenArea | None:
        """Where the element is on the screenshot; None if it is not on the screen, or if the device does not say."""
        try:
            async with asyncio.timeout_at(until):
                screen = await device.view.screen_bounds()
        except (TimeoutError, DeviceFailure):
            return None
        except Exception as error:
            log.warning("evidence_failed", what="element", exc_info=error)
            return None
        return area_of(element.bounds, screen)

    async def _capture(
        self,
        what: str,
        ask: Callable[[], Awaitable[T]],
        store: Callable[[T], Awaitable[str]],
        until: float,
        missing: list[str],
    ) -> str:
        """The name of the artifact; "" if there is none, and then `missing` says why."""
        answered = False
        why = "the device does not answer"
        try:
            if not self._unresponsive:
                async with asyncio.timeout_at(until):
                    answer = await ask()
                    answered = True
                    if name := await store(answer):
                        return name
                    why = "it could not be stored"
        except TimeoutError:
            self._unresponsive = not answered
            why = "it could not be stored in time" if answered else why
        except DeviceFailure as failed:
            why = failed.message
        except Exception as error:
            log.warning("evidence_failed", what=what, exc_info=error)
            why = type(error).__name__
        missing.append(f"no {what}: {why}")
        return ""


def _time() -> float:
    return asyncio.get_running_loop().time()


def _truncate(source: PageSource) -> PageSource:
    """At most TREE_BYTES of the source."""
    content = source.content.encode(errors="replace")
    if len(content) <= TREE_BYTES:
        return source
    cut = content[:TREE_BYTES].decode(errors="ignore")
    return PageSource(f"{cut}\n(truncated: {len(content)} bytes)", "text/plain")


def _tail(text: str) -> str:
    content = text.encode(errors="replace")
    if len(content) <= LOG_BYTES:
        return text
    return f"(the last {LOG_BYTES} of {len(content)} bytes)\n" + content[-LOG_BYTES:].decode(errors="ignore")

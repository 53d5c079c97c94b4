"""Captures what shows why an attempt failed: the device's log, a screenshot, the UI tree behind it.

A capture that fails is noted and ignored: it changes no verdict, and takes no longer than the limits below.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from mobiletest_automation import logs
from mobiletest_automation.devices.port import Device, DeviceFailure, DeviceInfo, DeviceLog, PageSource
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.evidence.crashes import (
    app_of_dialog,
    explain_by_crash,
    explain_by_dialog,
    explain_by_exception,
    find_crash,
    find_page_exception,
    find_reported_crash,
    name_earlier_crash,
)
from mobiletest_automation.evidence.recorder import StepRecorder
from mobiletest_automation.model.failures import Category, Fault
from mobiletest_automation.model.results import ScreenArea
from mobiletest_automation.outcome import StepFailed
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.identity import area_of
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.screen.system_dialogs import SystemDialog, find_system_dialog

# For a screenshot and a tree together.
CAPTURE_SECONDS = 10.0
# For everything once the run is out of time.
LATE_SECONDS = 3.0
LOG_SECONDS = 5.0
MARGIN_SECONDS = 0.25
TREE_BYTES = 4 * 1024 * 1024
LOG_BYTES = 1024 * 1024
LOG_BEGINNING_BYTES = 128 * 1024

# Instead of the name of an artifact.
NOTHING_TO_STORE = "-"

T = TypeVar("T")
logger = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class CapturedScreen:
    """Names of artifacts, where the element is on the screenshot, what could not be captured, and the screenshot."""

    screenshot: str = ""
    tree: str = ""
    missing: tuple[str, ...] = ()
    element_area: ScreenArea | None = None
    picture: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class AppNames:
    """The id of the app under test, where the device does not say it, and its name. Both may be unknown."""

    id: str = ""
    name: str = ""


class FailureCapture:
    """For one attempt. `device` is set once there is one; a device that did not answer is not asked again."""

    def __init__(self, recorder: StepRecorder, run_seconds: float, *, capture_seconds: float = CAPTURE_SECONDS) -> None:
        """In `run_seconds` the run is out of time: a capture must not delay a failure until then."""
        self._recorder = recorder
        self._run_ends = _time() + run_seconds - MARGIN_SECONDS
        self._capture_seconds = capture_seconds
        self._unresponsive = False
        self.device: Device | None = None
        # What reads the screen of the device.
        self.watcher: Watcher | None = None
        self.app = AppNames()
        self._read_before: Outline | None = None

    def begin_step(self) -> None:
        """Note that a screen which is read from now on is that of a new step."""
        self._read_before = self.watcher.seen if self.watcher is not None else None

    async def explain(self, failed: StepFailed) -> StepFailed:
        """The failure with what the log says of the app: how it crashed, if it did; and with a dialog of the system
        that the step has seen. Never raises.

        To be called as soon as the step has failed: what is in the log then came before the failure.
        """
        if self.device is None or self._unresponsive or failed.category.fault is not Fault.TEST:
            return failed
        try:
            dialog = self._seen_dialog() if self.device.info.keeps_apps else None
            log = await self._read_log(self.device)
            return _explained(failed, log, dialog, self.device.info, self.app, self._recorder.secrets.mask)
        except Exception as error:
            logger.warning("evidence_failed", what="crash", exc_info=error)
            return failed

    async def app_of_dialog(self, dialog: SystemDialog) -> tuple[str, bool]:
        """The app of which the dialog is, "" if that is not certain; and whether it is the app under test."""
        log = await self._read_log(self.device) if self.device is not None else DeviceLog()
        app_id = log.app_id or self.app.id
        app = app_of_dialog(dialog, log, app_id)
        return app, app == app_id

    async def _read_log(self, device: Device) -> DeviceLog:
        """Empty if it cannot be read in time."""
        try:
            async with asyncio.timeout_at(min(_time() + LOG_SECONDS, self._run_ends)):
                return await device.log()
        except (TimeoutError, DeviceFailure):
            return DeviceLog()

    def _seen_dialog(self) -> SystemDialog | None:
        """On the last screen that the step under way has read, of a phone."""
        read = self.watcher.seen if self.watcher is not None else None
        return find_system_dialog(read.root) if read is not None and read is not self._read_before else None

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
        """The device's log. Never raises."""
        if self.device is None:
            return

        async def store(log: DeviceLog) -> str:
            text = "\n".join((log.text, *log.reports)) if log.reports else log.text
            masked = self._recorder.secrets.mask(text)
            return await self._recorder.store_log(_without_middle(masked)) if text else NOTHING_TO_STORE

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
            logger.warning("evidence_failed", what="element", exc_info=error)
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
            logger.warning("evidence_failed", what=what, exc_info=error)
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


def _without_middle(text: str) -> str:
    """At most LOG_BYTES of the text: its beginning and its end."""
    content = text.encode(errors="replace")
    if len(content) <= LOG_BYTES:
        return text
    beginning, end = content[:LOG_BEGINNING_BYTES], content[-(LOG_BYTES - LOG_BEGINNING_BYTES) :]
    left_out = f"\n(the middle of {len(content)} bytes is missing)\n"
    return beginning.decode(errors="ignore") + left_out + end.decode(errors="ignore")


def _explained(
    failed: StepFailed,
    log: DeviceLog,
    dialog: SystemDialog | None,
    info: DeviceInfo,
    app: AppNames,
    mask: Callable[[str], str],
) -> StepFailed:
    app_id, platform = log.app_id or app.id, info.flow_platform
    if platform == "web":
        thrown = find_page_exception(mask(log.recent), app_id)
        return explain_by_exception(failed, thrown) if thrown is not None else failed
    has_ended = failed.category in (Category.APP_CRASH, Category.APP_LAUNCH_FAILED)
    crash = find_crash(mask(log.since_launch if has_ended else log.recent), app_id, platform, app.name)
    if crash is None and has_ended:
        crash = find_reported_crash([mask(report) for report in log.reports], app_id)
    if crash is not None:
        return explain_by_crash(failed, crash, app_id)
    shown_app = app_of_dialog(dialog, log, app_id) if dialog is not None else ""
    earlier = find_crash(mask(log.since_launch), app_id, platform, app.name)
    if earlier is not None:
        if shown_app == app_id:
            return explain_by_crash(failed, earlier, app_id)
        failed = name_earlier_crash(failed, earlier, app_id)
    if dialog is None:
        return failed
    return explain_by_dialog(failed, dialog, shown_app if earlier is None and shown_app != app_id else "")

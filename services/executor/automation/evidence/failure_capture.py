"""Keeps what shows why an attempt failed: the screen, the UI tree behind it, the device's log.

Whatever goes wrong here is said and passed over: it changes no verdict, and takes no longer than the bounds below.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from services.chassis import logs
from services.executor.automation.devices.port import Device, DeviceFailure, PageSource
from services.executor.automation.evidence.recorder import StepRecorder

CAPTURE_SECONDS = 10.0
"""For a picture and a tree together."""
LATE_SECONDS = 3.0
"""For everything once the run is out of time."""
LOG_SECONDS = 5.0
MARGIN_SECONDS = 0.25
TREE_BYTES = 4 * 1024 * 1024
LOG_BYTES = 1024 * 1024

NOTHING_TO_STORE = "-"
"""Instead of a name: there was nothing to keep."""

T = TypeVar("T")
log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class CapturedScreen:
    """What was seen of a failure: names of artifacts, and what could not be had."""

    screenshot: str = ""
    tree: str = ""
    missing: tuple[str, ...] = ()


class FailureCapture:
    """Looks at the device of one attempt, once there is one. A device that did not answer is not asked again."""

    def __init__(self, journal: StepRecorder, run_seconds: float, *, sight_seconds: float = CAPTURE_SECONDS) -> None:
        """`run_seconds` from now the run is out of time: looking at a failure must not make it one of that."""
        self._journal = journal
        self._run_ends = _time() + run_seconds - MARGIN_SECONDS
        self._sight_seconds = sight_seconds
        self._silent = False
        self.device: Device | None = None

    async def sight(self, index: int | None, *, late: bool = False) -> CapturedScreen:
        """Picture and tree of the screen, for a step, or for an end outside of all steps. Never raises."""
        device, journal = self.device, self._journal
        if device is None:
            return CapturedScreen()

        async def keep_picture(content: bytes) -> str:
            return await journal.picture(index, content)

        async def keep_tree(source: PageSource) -> str:
            return await journal.tree(index, _truncate(source))

        until = _time() + LATE_SECONDS if late else min(_time() + self._sight_seconds, self._run_ends)
        missing: list[str] = []
        screenshot = await self._kept("screenshot", device.screenshot, keep_picture, until, missing)
        tree = await self._kept("UI tree", device.source, keep_tree, until, missing)
        return CapturedScreen(screenshot, tree, tuple(missing))

    async def log(self, *, late: bool = False) -> None:
        """The end of the device's log. Never raises."""
        if self.device is None:
            return

        async def keep(text: str) -> str:
            return await self._journal.log(_tail(text)) if text else NOTHING_TO_STORE

        until = _time() + (LATE_SECONDS if late else LOG_SECONDS)
        await self._kept("device log", self.device.log, keep, until, [])

    async def _kept(
        self,
        what: str,
        ask: Callable[[], Awaitable[T]],
        keep: Callable[[T], Awaitable[str]],
        until: float,
        missing: list[str],
    ) -> str:
        """The name of what the device answered and was kept; "", and why, when there is none."""
        answered = False
        why = "the device does not answer"
        try:
            if not self._silent:
                async with asyncio.timeout_at(until):
                    answer = await ask()
                    answered = True
                    if name := await keep(answer):
                        return name
                    why = "it could not be kept"
        except TimeoutError:
            self._silent = not answered
            why = "it could not be kept in time" if answered else why
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
    """The source, cut off where it is too long for anybody to read."""
    content = source.content.encode(errors="replace")
    if len(content) <= TREE_BYTES:
        return source
    cut = content[:TREE_BYTES].decode(errors="ignore")
    return PageSource(f"{cut}\n(cut off: {len(content)} bytes)", "text/plain")


def _tail(text: str) -> str:
    content = text.encode(errors="replace")
    if len(content) <= LOG_BYTES:
        return text
    return f"(the last {LOG_BYTES} of {len(content)} bytes)\n" + content[-LOG_BYTES:].decode(errors="ignore")

"""The log of a session's device, collected while the session lasts, because drivers keep only its end."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from time import monotonic

from mobiletest_automation.devices.port import LEFT_OUT, DeviceFailure, DeviceLog
from mobiletest_automation.devices.webdriver.driver_session import DriverSession
from mobiletest_automation.devices.webdriver.hub_connection import DriverError, Json
from mobiletest_automation.flows.texts import cut, cut_beginning

# Characters that are kept before, and after, the last launch of the app: the beginning and the end of a longer log.
PART_LIMIT = 384 * 1024
BEGINNING_LIMIT = 96 * 1024
REPORTS_LIMIT = 3
REPORT_LENGTH = 128 * 1024
# A driver keeps some 10,000 lines of a phone's log, which a busy phone writes in half a minute.
COLLECT_EVERY_SECONDS = 10.0
COLLECT_SECONDS = 5.0
# Milliseconds from 1970 to the year 10000.
_LAST_TIME = 253_402_300_800_000


async def collect_nothing() -> None:
    """Before the launch of an app whose log nobody collects."""


class SessionLog:
    """`kind` is the driver's name of the log, `reports` that of the system's reports of crashes, if it has any.

    `app_id` is that of the app under test, or the origin of its page; "" if it is unknown.
    """

    def __init__(self, driver: DriverSession, kind: str, *, reports: str = "", app_id: str = "") -> None:
        self._driver = driver
        self._kind = kind
        self._report_kind = reports
        self.app_id = app_id
        self._before = ""
        self._since_launch = ""
        self._reports: deque[str] = deque(maxlen=REPORTS_LIMIT)
        # How many characters have come, and had come when the last two steps began.
        self._length = 0
        self._steps = deque([0], maxlen=2)
        self._collected = monotonic()
        self._collects = True

    async def begin_step(self) -> None:
        """Collect what has come if the last time is a while ago. A log that cannot be read changes no step."""
        if monotonic() - self._collected >= COLLECT_EVERY_SECONDS:
            await self._collect_quietly()
        self._steps.append(self._length)

    async def begin_launch(self) -> None:
        """Note that the app is started now."""
        await self._collect_quietly()
        self._before, self._since_launch = _without_middle(self._before + self._since_launch), ""

    async def read(self) -> DeviceLog:
        """Collect what has come, and return all.

        Raises:
            DeviceFailure: the device cannot be asked.
        """
        await self._collect()
        self._reports.extend(cut(str(entry.get("message", "")), REPORT_LENGTH) for entry in await self._new_reports())
        recent = self._length - self._steps[0]
        since_launch = self._since_launch
        return DeviceLog(
            self._before + since_launch,
            since_launch,
            cut_beginning(since_launch, recent) if recent else "",
            tuple(self._reports),
            self.app_id,
        )

    async def _collect_quietly(self) -> None:
        if not self._collects:
            return
        try:
            async with asyncio.timeout(COLLECT_SECONDS):
                await self._collect()
        except (TimeoutError, DeviceFailure):
            self._collects = False

    async def _collect(self) -> None:
        self._collected = monotonic()
        try:
            entries = await self._driver.log(self._kind)
        except DriverError as error:
            if error.code in ("invalid session id", "no such window"):
                raise
            self._collects = False  # the driver has no such log
            return
        text = "".join(f"{_line(entry)}\n" for entry in entries)
        self._length += len(text)
        self._since_launch = _without_middle(self._since_launch + text)

    async def _new_reports(self) -> Sequence[Mapping[str, Json]]:
        if self._report_kind:
            with suppress(DriverError):
                return await self._driver.log(self._report_kind)
        return ()


def _line(entry: Mapping[str, Json]) -> str:
    moment, when = entry.get("timestamp"), ""
    if isinstance(moment, int | float) and 0 <= moment < _LAST_TIME:
        when = datetime.fromtimestamp(moment / 1000, UTC).isoformat()
    return " ".join(str(part) for part in (when, entry.get("level", ""), entry.get("message", "")) if part)


def _without_middle(text: str) -> str:
    """The beginning and the end of a text that is too long."""
    if len(text) <= PART_LIMIT:
        return text
    return f"{cut(text, BEGINNING_LIMIT)}{LEFT_OUT}{cut_beginning(text, PART_LIMIT - BEGINNING_LIMIT)}"

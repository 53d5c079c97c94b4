"""The port Devices on the one device that was chosen."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

from mobiletest_automation.devices.port import AppUnderTest, Device, DeviceFailure, DeviceInfo, OnSession, Seed
from mobiletest_automation.model.failures import Category
from mobiletest_automation.web_addresses import EVERYWHERE
from mobiletest_cli.errors import NO_VERDICT, CliError
from mobiletest_cli.local_run.devices import ChosenDevice

_STARTED = re.compile(rb"started successfully on port (\d+)", re.ASCII)
# What a chromedriver says of a Chrome that ended at once, in its versions.
_CHROME_ENDED = re.compile("Chrome instance exited|Chrome failed to start|DevToolsActivePort")
_START_SECONDS = 20.0
_STOP_SECONDS = 10.0


class OneDevice:
    """Opens a session on the device for each attempt. `open` is the device while it has one."""

    def __init__(self, chosen: ChosenDevice, app: Path | None) -> None:
        """`app` is the file to install."""
        self._chosen = chosen
        self._app = app
        self.open: Device | None = None

    async def acquire(
        self, platform: str, build: AppUnderTest, seed: Seed, *, on_session: OnSession | None = None
    ) -> Device:
        """A new session.

        Raises:
            DeviceFailure: it cannot be opened.
        """
        chosen = self._chosen
        info = DeviceInfo(chosen.name, platform, simulated=chosen.is_simulated, browser=chosen.is_browser)
        try:
            self.open = await self._open(info, build, seed, on_session)
        except DeviceFailure as failure:
            if not (advice := advise(chosen, failure)):
                raise
            message = f"{failure.message.rstrip('.')}; {advice}"
            raise DeviceFailure(failure.category, message, failure.path) from failure
        return self.open

    async def _open(self, info: DeviceInfo, build: AppUnderTest, seed: Seed, on_session: OnSession | None) -> Device:
        if self._chosen.is_simulated:
            from mobiletest_automation.devices.simulated.device import SimulatedDevice

            return SimulatedDevice(info, build, seed)
        from mobiletest_automation.devices.webdriver.hub_target import HubTarget
        from mobiletest_automation.devices.webdriver.sessions import open_device

        chosen = self._chosen
        target = HubTarget(url=chosen.hub, capabilities=chosen.capabilities, addresses=EVERYWHERE, dedicated=True)
        app = str(self._app) if self._app is not None and not chosen.is_browser else None
        return await open_device(target, info, build, app=app, on_session=on_session)

    async def release(self, device: Device) -> None:
        """Close the session."""
        await device.close()
        self.open = None

    async def close(self, seconds: float) -> None:
        """Wait for sessions that are being closed."""
        if self._chosen.is_simulated:
            return
        from mobiletest_automation.devices.webdriver.sessions import wait_for_unfinished

        await wait_for_unfinished(seconds)


def advise(chosen: ChosenDevice, failure: DeviceFailure) -> str:
    """What to do about a session that cannot be opened; "" if that is not known."""
    if chosen.is_browser and _CHROME_ENDED.search(failure.message):
        arguments = json.dumps({"args": ["--headless=new", "--no-sandbox"]})
        return f"as root, in containers and without a screen: --capability 'goog:chromeOptions={arguments}'"
    if failure.category == Category.NETWORK_ERROR:
        return "check that an Appium server or another WebDriver hub answers at the address of --device"
    return ""


@contextmanager
def running_hub(chosen: ChosenDevice) -> Iterator[ChosenDevice]:
    """The device with the address of its hub, which is started for the time of the block if it is a program.

    Raises:
        CliError: the program cannot be started, or does not say at which port it answers.
    """
    if not chosen.driver:
        yield chosen
        return
    try:
        driver = subprocess.Popen(  # noqa: S603 - the chromedriver of the user
            [chosen.driver, "--port=0"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that Ctrl-C closes the session first
        )
    except OSError as error:
        raise CliError(f"{chosen.driver}: cannot be started: {error.strerror}", NO_VERDICT) from None
    try:
        assert driver.stdout is not None  # noqa: S101 - a pipe
        yield replace(chosen, hub=f"http://127.0.0.1:{_read_port(chosen.driver, driver.stdout)}", driver="")
    finally:
        driver.terminate()
        try:
            driver.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            driver.kill()
            driver.wait()


def _read_port(program: str, output: IO[bytes]) -> int:
    deadline = time.monotonic() + _START_SECONDS
    lines: list[str] = []
    for line in output:
        if started := _STARTED.search(line):
            return int(started[1])
        lines.append(line.decode(errors="replace").rstrip())
        if time.monotonic() > deadline:
            break
    raise CliError(f"{program} did not start:", NO_VERDICT, details=lines[-5:])

"""The hubs that pools have their devices from: a port, and WebDriver behind it."""

from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from services.executor.automation.devices.pools.pool import AppDelivery, Hub
from services.executor.automation.devices.port import Build, Device, DeviceFailure, DeviceInfo, OnSession
from services.executor.automation.devices.webdriver import sessions
from services.executor.automation.devices.webdriver.sessions import HubTarget
from services.executor.model.failures import Category


class Hubs(Protocol):
    """What pools ask of hubs."""

    async def open(
        self, target: HubTarget, info: DeviceInfo, build: Build, *, app: str | None, on_session: OnSession | None
    ) -> Device:
        """A device with a session of its own. Raises DeviceFailure, and then has left no session behind."""

    async def ready(self, url: str) -> bool:
        """Whether the hub answers and takes sessions; never raises."""


class WebDriverHubs:
    """The port over W3C WebDriver."""

    async def open(
        self, target: HubTarget, info: DeviceInfo, build: Build, *, app: str | None, on_session: OnSession | None
    ) -> Device:
        return await sessions.open_device(target, info, build, app=app, on_session=on_session)

    async def ready(self, url: str) -> bool:
        return await sessions.is_ready(url)


class FileServing(Protocol):
    """Where this worker serves files to hubs that do not see its disk."""

    def offered(self, path: Path) -> AbstractContextManager[str]:
        """An address of the file that nobody can guess, and that is good inside the block only."""


async def app_location(build: Build, hub: Hub, files: FileServing | None, held: ExitStack) -> str | None:
    """The app as the hub is told of it; what is offered stays so while `held` is open. Raises DeviceFailure."""
    if build.static_url is not None or hub.opens_browsers:
        return None
    if build.file is None:
        return _external_address(build)
    path = await build.file()
    if hub.delivery is AppDelivery.PATH:
        return str(path)
    if files is None:
        raise DeviceFailure(
            Category.CONFIG_INVALID,
            f"the hub {hub.target.url} is to get the app from this worker, which serves no files: "
            "set MOBILETEST_EXECUTOR_FILES_LISTEN and MOBILETEST_EXECUTOR_FILES_URL, or `app: path` in its pool",
        )
    return held.enter_context(files.offered(path))


def _external_address(build: Build) -> str | None:
    """Where the hub is to fetch the app itself; a path would be one on the hub's machine, which is no build's."""
    address = build.artifact_url
    scheme = urlsplit(address).scheme if address is not None else None
    if scheme is not None and (len(scheme) < 2 or scheme == "file"):
        message = (
            "the build's artifact_url is no address that a hub can fetch it from, such as https://builds.example/a"
        )
        raise DeviceFailure(Category.ARTIFACT_INVALID, message)
    return address

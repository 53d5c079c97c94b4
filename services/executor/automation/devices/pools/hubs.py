"""The hubs of pools: the port, its WebDriver adapter, and how an app gets to a hub."""

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
    """Where pools open devices."""

    async def open(
        self, target: HubTarget, info: DeviceInfo, build: Build, *, app: str | None, on_session: OnSession | None
    ) -> Device:
        """A device with a new session. Raise DeviceFailure; then no session is left behind."""

    async def ready(self, url: str) -> bool:
        """Whether the hub answers and accepts sessions; never raises."""


class WebDriverHubs:
    """Hubs that speak W3C WebDriver."""

    async def open(
        self, target: HubTarget, info: DeviceInfo, build: Build, *, app: str | None, on_session: OnSession | None
    ) -> Device:
        return await sessions.open_device(target, info, build, app=app, on_session=on_session)

    async def ready(self, url: str) -> bool:
        return await sessions.is_ready(url)


class FileServing(Protocol):
    """Serves files of this worker to hubs that cannot read its disk."""

    def offered(self, path: Path) -> AbstractContextManager[str]:
        """An unguessable URL of the file, valid inside the block only."""


async def app_location(build: Build, hub: Hub, files: FileServing | None, held: ExitStack) -> str | None:
    """The path or URL of the app for the hub, valid while `held` is open. Raise DeviceFailure."""
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
            f"the hub {hub.target.url} needs the app from this worker, which serves no files: "
            "set MOBILETEST_EXECUTOR_FILES_LISTEN and MOBILETEST_EXECUTOR_FILES_URL, or `app: path` in its pool",
        )
    return held.enter_context(files.offered(path))


def _external_address(build: Build) -> str | None:
    """The URL from which the hub fetches the app itself. Raise DeviceFailure for a path, which would be the hub's."""
    address = build.artifact_url
    scheme = urlsplit(address).scheme if address is not None else None
    if scheme is not None and (len(scheme) < 2 or scheme == "file"):
        message = "the build's artifact_url must be a URL such as https://builds.example/a"
        raise DeviceFailure(Category.ARTIFACT_INVALID, message)
    return address

"""How the app of a build gets to a hub: as a path, as an address of this worker, or not at all."""

from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from services.executor.automation.devices import Build, DeviceFailure
from services.executor.automation.pools.pool import Delivery, Hub
from services.executor.model.failures import Category


class Files(Protocol):
    """Where this worker serves files to hubs that do not see its disk."""

    def offered(self, path: Path) -> AbstractContextManager[str]:
        """An address of the file that nobody can guess, and that is good inside the block only."""


async def app_of(build: Build, hub: Hub, files: Files | None, held: ExitStack) -> str | None:
    """The app as the hub is told of it; what is offered stays so while `held` is open. Raises DeviceFailure."""
    if build.static_url is not None or hub.browses:
        return None
    if build.file is None:
        return _kept_elsewhere(build)
    path = await build.file()
    if hub.delivery is Delivery.PATH:
        return str(path)
    if files is None:
        raise DeviceFailure(
            Category.CONFIG_INVALID,
            f"the hub {hub.target.url} is to get the app from this worker, which serves no files: "
            "set MOBILETEST_EXECUTOR_FILES_LISTEN and MOBILETEST_EXECUTOR_FILES_URL, or `app: path` in its pool",
        )
    return held.enter_context(files.offered(path))


def _kept_elsewhere(build: Build) -> str | None:
    """Where the hub is to fetch the app itself; a path would be one on the hub's machine, which is no build's."""
    address = build.artifact_url
    scheme = urlsplit(address).scheme if address is not None else None
    if scheme is not None and (len(scheme) < 2 or scheme == "file"):
        message = (
            "the build's artifact_url is no address that a hub can fetch it from, such as https://builds.example/a"
        )
        raise DeviceFailure(Category.ARTIFACT_INVALID, message)
    return address

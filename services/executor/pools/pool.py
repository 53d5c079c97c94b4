"""A device pool: a number of devices of one kind, how the app gets to its hub, and which pools can run a build."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from mobiletest_automation.devices.port import AppUnderTest, DeviceFailure
from mobiletest_automation.devices.simulated.app_model import NO_PACE, Pace
from mobiletest_automation.devices.webdriver.hub_target import AppDelivery, HubTarget, check_address
from mobiletest_automation.model.failures import Category
from mobiletest_automation.web_addresses import AddressRefused

PLATFORMS = ("android", "ios")
DEFAULT_SLOTS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Devices of one kind: those of `hub`, or simulated ones with `pace`.

    `slots` is how many runs may use them at once; `labels` describe the devices to people. They are only for the runs
    of `organisation`, if one is named, and never for those of `not_for`, which have devices of their own elsewhere.
    """

    name: str
    platform: str
    slots: int = DEFAULT_SLOTS
    pace: Pace = NO_PACE
    hub: HubTarget | None = None
    labels: tuple[str, ...] = ()
    organisation: str | None = None
    not_for: frozenset[str] = frozenset()

    def accepts(self, org_id: str) -> bool:
        """Whether runs of the organisation may use the devices."""
        return self.organisation in (None, org_id) and org_id not in self.not_for

    def device_name(self, number: int) -> str:
        """The name of the device in slot `number`."""
        description = f" ({', '.join(self.labels)})" if self.labels else ""
        return f"{self.name}-{number}{description}"


# The pools of a worker with simulated devices and without a pools file.
DEFAULT_POOLS = tuple(Pool(name=f"simulated-{platform}", platform=platform) for platform in PLATFORMS)


class FileServing(Protocol):
    """Serves files of this worker to hubs that cannot read its disk."""

    def offered(self, path: Path) -> AbstractContextManager[str]:
        """An unguessable URL of the file, valid inside the block only."""


async def app_location(build: AppUnderTest, hub: HubTarget, files: FileServing | None, held: ExitStack) -> str | None:
    """The path or URL of the app for the hub, valid while `held` is open.

    Raises:
        DeviceFailure: the artifact cannot be read or stored for the hub, or the worker serves no files to a hub that
            needs them (CONFIG_INVALID).
    """
    if build.static_url is not None or hub.opens_browsers:
        return None
    if build.file is None:
        return await _external_address(build, hub)
    path = await build.file()
    if hub.app_delivery is AppDelivery.PATH:
        return str(path)
    if files is None:
        raise DeviceFailure(
            Category.CONFIG_INVALID,
            "the hub needs the app from this worker, which serves no files: "
            "set MOBILETEST_EXECUTOR_FILES_LISTEN and MOBILETEST_EXECUTOR_FILES_URL, or `app: path` in its pool",
        )
    return held.enter_context(files.offered(path))


async def _external_address(build: AppUnderTest, hub: HubTarget) -> str | None:
    """The URL from which the hub fetches the app itself. Raise DeviceFailure for a path, which would be the hub's."""
    address = build.artifact_url
    scheme = urlsplit(address).scheme if address is not None else None
    if scheme is not None and (len(scheme) < 2 or scheme == "file"):
        message = "the build's artifact_url must be a URL such as https://builds.example/a"
        raise DeviceFailure(Category.ARTIFACT_INVALID, message)
    if address is not None:
        await check_address(hub.addresses, address, Category.CONFIG_INVALID, "the build's artifact_url")
    return address


def suitable_pools(pools: Sequence[Pool], platform: str, build: AppUnderTest) -> list[Pool]:
    """The pools that can run the build: browsers run only web builds, which prefer them.

    Raises:
        DeviceFailure: there is none.
    """
    pools = [pool for pool in pools if pool.accepts(build.org_id)]
    if not pools:
        raise DeviceFailure(Category.CONFIG_INVALID, f"no device pool for {platform} is configured")
    if build.skips_install and build.static_url is None:
        pools = _keeping_apps(pools)
    browsers = [pool for pool in pools if pool.hub is not None and pool.hub.opens_browsers]
    if build.static_url is not None:
        return _allowing(browsers, build.static_url) if browsers else pools
    if len(browsers) == len(pools):
        raise DeviceFailure(
            Category.CONFIG_INVALID,
            f"every device pool for {platform} has browsers, which only run builds with a static_url",
        )
    return [pool for pool in pools if pool not in browsers]


def _keeping_apps(pools: Sequence[Pool]) -> list[Pool]:
    """The pools on which a test may use an app that is already installed. Raise DeviceFailure if there are none."""
    keeping = [pool for pool in pools if pool.hub is None or pool.organisation is not None]
    if not keeping:
        raise DeviceFailure(
            Category.CONFIG_INVALID,
            "skip_app_install needs devices that only your organisation uses, because others are cleaned after a run: "
            "leave it out, or ask the operator to dedicate a device pool to your organisation",
        )
    return keeping


def _allowing(browsers: Sequence[Pool], page: str) -> list[Pool]:
    """The pools that may open the page. Raise DeviceFailure if there are none."""
    pools, refusal = list[Pool](), ""
    for pool in browsers:
        if pool.hub is None:
            continue
        try:
            pool.hub.addresses.check(page)
        except AddressRefused as error:
            refusal = str(error)
        else:
            pools.append(pool)
    if not pools:
        raise DeviceFailure(Category.CONFIG_INVALID, f"the app's static_url cannot be opened: {refusal}")
    return pools

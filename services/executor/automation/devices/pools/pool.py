"""What a pool is: a number of devices of one kind."""

from dataclasses import dataclass
from enum import StrEnum

from services.executor.automation.devices.simulated.app_model import NO_PACE, Pace
from services.executor.automation.devices.webdriver.sessions import HubTarget

PLATFORMS = ("android", "ios")
DEFAULT_SLOTS = 4


class PoolKind(StrEnum):
    """What the devices of a pool are."""

    SIMULATED = "simulated"
    WEBDRIVER = "webdriver"


class AppDelivery(StrEnum):
    """How a hub gets the app: as a file that it sees under the same path, or from an address of this worker."""

    PATH = "path"
    URL = "url"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """Where the devices of a pool are had, and how the app gets there."""

    target: HubTarget
    delivery: AppDelivery = AppDelivery.PATH

    @property
    def opens_browsers(self) -> bool:
        """Whether it opens browsers, which show web builds and nothing else."""
        return "browserName" in self.target.capabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Devices of one kind: simulated ones, which take `pace`, or those of `hub`.

    `slots` is how many may be held at once; `labels` describe the devices to people.
    """

    name: str
    platform: str
    kind: PoolKind
    slots: int = DEFAULT_SLOTS
    pace: Pace = NO_PACE
    hub: Hub | None = None
    labels: tuple[str, ...] = ()

    def named(self, number: int) -> str:
        """The name of its device in the place `number`."""
        described = f" ({', '.join(self.labels)})" if self.labels else ""
        return f"{self.name}-{number}{described}"


DEFAULT_POOLS = tuple(
    Pool(name=f"simulated-{platform}", platform=platform, kind=PoolKind.SIMULATED) for platform in PLATFORMS
)
"""The pools of a worker that was given no file."""

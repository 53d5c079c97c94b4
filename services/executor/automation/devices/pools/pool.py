"""A device pool: a number of devices of one kind."""

from dataclasses import dataclass
from enum import StrEnum

from services.executor.automation.devices.simulated.app_model import NO_PACE, Pace
from services.executor.automation.devices.webdriver.sessions import HubTarget

PLATFORMS = ("android", "ios")
DEFAULT_SLOTS = 4


class PoolKind(StrEnum):
    """The kind of a pool's devices."""

    SIMULATED = "simulated"
    WEBDRIVER = "webdriver"


class AppDelivery(StrEnum):
    """How a hub gets the app: by the path of a file that it can read too, or by a URL of this worker."""

    PATH = "path"
    URL = "url"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """The hub of a pool, and how it gets the app."""

    target: HubTarget
    delivery: AppDelivery = AppDelivery.PATH

    @property
    def opens_browsers(self) -> bool:
        """Whether its devices are browsers, which can only run web builds."""
        return "browserName" in self.target.capabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Devices of one kind: simulated ones with `pace`, or those of `hub`.

    `slots` is how many runs may use them at once; `labels` describe the devices to people.
    """

    name: str
    platform: str
    kind: PoolKind
    slots: int = DEFAULT_SLOTS
    pace: Pace = NO_PACE
    hub: Hub | None = None
    labels: tuple[str, ...] = ()

    def device_name(self, number: int) -> str:
        """The name of the device in slot `number`."""
        description = f" ({', '.join(self.labels)})" if self.labels else ""
        return f"{self.name}-{number}{description}"


DEFAULT_POOLS = tuple(
    Pool(name=f"simulated-{platform}", platform=platform, kind=PoolKind.SIMULATED) for platform in PLATFORMS
)
"""The pools of a worker without a pools file."""

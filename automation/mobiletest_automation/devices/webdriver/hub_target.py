"""A hub, the sessions to open there, and what its devices may do."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.devices.webdriver.hub_connection import Json
from mobiletest_automation.model.failures import Category
from mobiletest_automation.web_addresses import PUBLIC_ONLY, AddressPolicy, AddressRefused

NEW_COMMAND_SECONDS = 90.0
OPENING_SECONDS = 240.0


class AppDelivery(StrEnum):
    """How a hub gets the app: by the path of a file that it can read too, or by a URL of this worker."""

    PATH = "path"
    URL = "url"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubTarget:
    """A hub and the capabilities of the sessions to open there.

    `url` is the base of `/session` and `/status`; by the W3C `capabilities` (with vendor prefixes) the hub chooses one
    of its devices; an Appium hub ends a session after `new_command_timeout` idle seconds. `addresses` says what tests
    may open, `allowed_apps` which apps they may use besides the one they install and some of the system. On devices
    that are `dedicated` to one organisation they may use all apps, and apps stay installed.
    """

    url: str
    capabilities: Mapping[str, Json]
    app_delivery: AppDelivery = AppDelivery.PATH
    new_command_timeout: float = NEW_COMMAND_SECONDS
    opening_seconds: float = OPENING_SECONDS
    addresses: AddressPolicy = PUBLIC_ONLY
    allowed_apps: frozenset[str] = frozenset()
    dedicated: bool = False

    @property
    def opens_browsers(self) -> bool:
        """Whether its devices are browsers, which can only run web builds."""
        return "browserName" in self.capabilities


async def check_address(addresses: AddressPolicy, url: str, category: Category, what: str) -> None:
    """Check a link before it is opened; `what` names it.

    Raises:
        DeviceFailure: it must not be opened (of this category).
    """
    try:
        await addresses.check_resolved(url)
    except AddressRefused as error:
        raise DeviceFailure(category, f"{what} cannot be opened: {error}") from error

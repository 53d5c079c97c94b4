"""Opens sessions at hubs, and closes them whatever happens."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from services.executor.automation.devices import Build, Device, DeviceInfo, OnSession, Session

Json: TypeAlias = "str | int | float | bool | None | list[Json] | dict[str, Json]"

NEW_COMMAND_SECONDS = 90.0
DELETE_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A hub and what to ask it for.

    `url` is where its `/session` and `/status` are; `capabilities` are W3C ones (vendor prefixes included), the hub
    decides by them which of its devices it takes; `new_command_timeout` is after how many idle seconds an Appium hub
    ends a session by itself.
    """

    url: str
    capabilities: Mapping[str, Json]
    labels: tuple[str, ...] = ()
    new_command_timeout: float = NEW_COMMAND_SECONDS


async def open_device(
    target: Target, info: DeviceInfo, build: Build, *, app: str | None = None, on_session: OnSession | None = None
) -> Device:
    """A device with a session of its own at the hub.

    `app` is a path or URL that the hub can read the app from; None installs nothing. `on_session` is told of the
    session before anything is done in it. Raises DeviceFailure: device_unavailable, app_install_failed,
    app_launch_failed, network_error, config_invalid. Whatever ends it early, no session is left behind: neither by
    a cancellation, nor by an `on_session` that raises, nor by a hub that answers when nobody waits any more.
    """
    raise NotImplementedError


async def delete_session(session: Session, *, timeout: float = DELETE_SECONDS) -> bool:
    """End a session that somebody left behind; whether it is certainly gone now. Never raises."""
    raise NotImplementedError


async def ready(url: str, *, timeout: float = 5.0) -> bool:
    """Whether the hub answers and says that it takes sessions. Never raises."""
    raise NotImplementedError

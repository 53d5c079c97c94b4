"""Devices that hold something of an organisation until they are cleaned."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class UncleanDevice:
    """A device since its session was opened, because the session may leave apps and texts on it.

    `hub`, `device` and `session` are the URL of the hub, the device's id there and the session's. `installed_before`
    are the apps that stay; None when the driver cannot list them, so that only `apps`, the known ones, are removed.
    A device that is `dedicated` to its organisation keeps everything until another one gets it.
    """

    hub: str
    device: str
    session: str
    platform: str
    org_id: str
    dedicated: bool
    apps: frozenset[str] = frozenset()
    installed_before: frozenset[str] | None = None

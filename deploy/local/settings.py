"""The environment variables of the local stack; the services inherit all others."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.local.layout import service_names


class InvalidSetting(Exception):
    """A variable has an invalid value; the message names it."""


@dataclass(frozen=True, slots=True)
class StackSettings:
    """The state folder, the port, the number of workers, and the addresses of running servers, if any.

    With `next_port`, the next free port is taken if the port is in use. `examples`: load the example workspace.
    `without` names services that somebody else starts; with `reload`, services restart when their files change.
    `package` is the Python package of the services; tests use stand-ins.
    """

    state_dir: Path
    port: int = 8080
    next_port: bool = True
    examples: bool = True
    workers: int = 1
    mongo_uri: str | None = None
    kafka_bootstrap: str | None = None
    without: frozenset[str] = frozenset()
    reload: bool = False
    package: str = "services"


def from_environment(environ: Mapping[str, str] = os.environ) -> StackSettings:
    """Read MOBILETEST_STATE_DIR, _PORT, _EXAMPLES, _WORKERS, _MONGO_URI and _KAFKA_BOOTSTRAP.

    A port that is set is taken, or none.

    Raises:
        InvalidSetting: one is not valid; it names it.
    """
    return StackSettings(
        state_dir=Path(environ.get("MOBILETEST_STATE_DIR") or ".local").absolute(),
        port=_number(environ, "MOBILETEST_PORT", 8080, range(65536)),
        next_port=not environ.get("MOBILETEST_PORT"),
        examples=_truth(environ, "MOBILETEST_EXAMPLES", default=True),
        workers=_number(environ, "MOBILETEST_WORKERS", 1, range(1, 65)),
        mongo_uri=environ.get("MOBILETEST_MONGO_URI") or None,
        kafka_bootstrap=environ.get("MOBILETEST_KAFKA_BOOTSTRAP") or None,
    )


def check_service_names(settings: StackSettings) -> None:
    """Check the names in `without`.

    Raises:
        InvalidSetting: one is no service of this stack; it names it.
    """
    known = service_names(settings.workers)
    if unknown := sorted(settings.without.difference(known)):
        raise InvalidSetting(f"--without {unknown[0]}: there is no such service; there are {', '.join(known)}")


def _number(environ: Mapping[str, str], name: str, default: int, allowed: range) -> int:
    text = environ.get(name) or str(default)
    if not text.isascii() or not text.isdecimal() or int(text) not in allowed:
        raise InvalidSetting(f"{name}={text}: must be a whole number from {allowed.start} to {allowed.stop - 1}")
    return int(text)


def _truth(environ: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = environ.get(name) or str(default)
    if text.lower() not in ("true", "false"):
        raise InvalidSetting(f"{name}={text}: must be true or false")
    return text.lower() == "true"

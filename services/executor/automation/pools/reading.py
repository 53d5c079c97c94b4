"""Reads the YAML file that says which pools there are."""

from collections import Counter
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import TypeVar
from urllib.parse import SplitResult, urlsplit

from services.executor.automation.pools.capabilities import read_capabilities
from services.executor.automation.pools.pool import DEFAULT, DEFAULT_SLOTS, PLATFORMS, Delivery, Hub, Kind, Pool
from services.executor.automation.simulated.model import Pace
from services.executor.automation.webdriver.opening import NEW_COMMAND_SECONDS, Target
from services.flows.documents import read_yaml
from services.flows.nodes import DocumentError, Node, read_optional

SLOTS_LIMIT = 1_000
LABELS_LIMIT = 20

_COMMON = ("name", "platform", "kind", "slots", "labels")
_SIMULATED = ("step_delay", "time_scale")
_WEBDRIVER = ("url", "capabilities", "app", "new_command_timeout")

T = TypeVar("T")


class PoolsError(DocumentError):
    """The pools file cannot be used: path, line and column, and what is wrong there."""


def load_pools(path: Path | None) -> tuple[Pool, ...]:
    """From a YAML file; without one, simulated devices of both platforms. PoolsError, or OSError."""
    if path is None:
        return DEFAULT
    try:
        return read_pools(path.read_text(encoding="utf-8"))
    except PoolsError as error:
        raise PoolsError(f"{path}, {error.path.removeprefix('.')}", error.line, error.column, error.message) from error


def read_pools(text: str) -> tuple[Pool, ...]:
    """The pools of a YAML text: `pools:` and a list of them."""
    try:
        entries = read_yaml(text, "").fields(("pools",), required=("pools",))
        pools = tuple(_pool(node) for node in entries["pools"].items())
        if not pools:
            raise entries["pools"].error("there is no pool")
        names = Counter(pool.name for pool in pools)
        for node, pool in zip(entries["pools"].items(), pools, strict=True):
            if names[pool.name] > 1:
                raise node.error(f'two pools are called "{pool.name}"')
    except DocumentError as error:
        raise PoolsError(error.path, error.line, error.column, error.message) from error
    return pools


def _pool(node: Node) -> Pool:
    entries = node.fields((*_COMMON, *_SIMULATED, *_WEBDRIVER), required=("platform", "kind"))
    platform = entries["platform"].choice(PLATFORMS)
    kind = Kind(entries["kind"].choice(Kind))
    _refuse(entries, _SIMULATED if kind is Kind.WEBDRIVER else _WEBDRIVER, kind)
    labels = read_optional(entries, "labels", _labels) or ()
    return Pool(
        name=_or(entries, "name", lambda found: found.string(limit=100).strip(), "") or f"{kind}-{platform}",
        platform=platform,
        kind=kind,
        slots=_or(entries, "slots", lambda found: found.integer(1, SLOTS_LIMIT), DEFAULT_SLOTS),
        pace=_pace(entries),
        hub=_hub(node, entries, labels) if kind is Kind.WEBDRIVER else None,
        labels=labels,
    )


def _or(entries: Mapping[str, Node], key: str, read: Callable[[Node], T], otherwise: T) -> T:
    found = read_optional(entries, key, read)
    return otherwise if found is None else found


def _refuse(entries: Mapping[str, Node], foreign: tuple[str, ...], kind: Kind) -> None:
    for name in foreign:
        if name in entries:
            raise entries[name].error_at_key(f"{name} says nothing about a pool of the kind {kind}: remove it")


def _labels(node: Node) -> tuple[str, ...]:
    if len(node.items()) > LABELS_LIMIT:
        raise node.error(f"more than {LABELS_LIMIT} labels")
    return tuple(label.string(limit=60).strip() for label in node.items())


def _pace(entries: Mapping[str, Node]) -> Pace:
    return Pace(
        step=_or(entries, "step_delay", lambda found: found.seconds(0, 600), 0.0),
        scale=_or(entries, "time_scale", lambda found: found.number(0, 10), 0.0),
    )


def _hub(node: Node, entries: Mapping[str, Node], labels: tuple[str, ...]) -> Hub:
    if "url" not in entries:
        raise node.error("url is missing: a pool of the kind webdriver needs the address of its hub")
    url = _url(entries["url"])
    target = Target(
        url=url.geturl().rstrip("/"),
        capabilities=_or(entries, "capabilities", read_capabilities, {}),
        labels=labels,
        new_command_timeout=_or(
            entries, "new_command_timeout", lambda found: found.seconds(10, 3600), NEW_COMMAND_SECONDS
        ),
    )
    usual = Delivery.PATH if _is_loopback(url.hostname or "") else Delivery.URL
    return Hub(target=target, delivery=_or(entries, "app", lambda found: Delivery(found.choice(Delivery)), usual))


def _url(node: Node) -> SplitResult:
    try:
        url = urlsplit(node.string(limit=2_000).strip())
        named = bool(url.hostname) and url.port != 0
    except ValueError as error:
        raise node.error(f"this is no address: {error}") from error
    if url.scheme not in ("http", "https") or not named:
        raise node.error("expected an address such as http://127.0.0.1:4723")
    if url.username is not None or url.password is not None:
        raise node.error("no name and password in the address, please: it is shown and stored")
    if url.query or url.fragment:
        raise node.error("the address of a hub ends with its path")
    return url


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False

"""Reads the YAML file of device pools."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from mobiletest_automation.devices.simulated.app_model import Pace
from mobiletest_automation.devices.webdriver.hub_connection import Json
from mobiletest_automation.devices.webdriver.hub_target import NEW_COMMAND_SECONDS, AppDelivery, HubTarget
from mobiletest_automation.flows.documents import read_yaml
from mobiletest_automation.flows.nodes import DocumentError, Node, quote, read_optional, suggest
from mobiletest_automation.web_addresses import AddressPolicy
from services.executor.pools.pool import DEFAULT_POOLS, DEFAULT_SLOTS, PLATFORMS, Pool

SLOTS_LIMIT = 1_000
LABELS_LIMIT = 20

_COMMON = ("name", "platform", "kind", "slots", "labels", "organisation", "not_for")
_SIMULATED = ("step_delay", "time_scale")
_WEBDRIVER = ("url", "capabilities", "app", "new_command_timeout", "allowed_addresses", "allowed_apps")
# The kinds of pools, and the fields that do not apply to each.
_OTHER_KIND = {"simulated": _WEBDRIVER, "webdriver": _SIMULATED}


class PoolFileError(DocumentError):
    """The pools file is invalid: path, line, column and message."""


def load_pools(path: Path | None, addresses: Sequence[str] = (), *, simulated: bool = False) -> tuple[Pool, ...]:
    """The pools of a YAML file; without one DEFAULT_POOLS if devices may be `simulated`, else none.

    `addresses` are allowed on all pools, in addition to those that a pool allows.

    Raises:
        PoolFileError: the file is wrong.
        OSError: it cannot be read.
    """
    if path is None:
        return DEFAULT_POOLS if simulated else ()
    try:
        return read_pools(path.read_text(encoding="utf-8"), addresses, simulated=simulated)
    except DocumentError as error:
        raise PoolFileError(
            f"{path}, {error.path.removeprefix('.')}", error.line, error.column, error.message
        ) from error


def read_pools(text: str, addresses: Sequence[str] = (), *, simulated: bool = False) -> tuple[Pool, ...]:
    """The pools of a YAML text: `pools:` with a list, empty where there are no devices.

    Raises:
        DocumentError: for the first problem in the document.
    """
    entries = read_yaml(text, "").fields(("pools",), required=("pools",))
    pools = tuple(_pool(node, addresses, simulated=simulated) for node in entries["pools"].items())
    names = Counter(pool.name for pool in pools)
    for node, pool in zip(entries["pools"].items(), pools, strict=True):
        if names[pool.name] > 1:
            raise node.error(f'duplicate pool name "{pool.name}"')
    _check_dedication(entries["pools"].items(), pools)
    return pools


def _check_dedication(nodes: Sequence[Node], pools: Sequence[Pool]) -> None:
    """A worker claims runs by platform and organisation, so its pools of a platform must accept the same ones."""
    accepted = dict[str, tuple[str | None, frozenset[str]]]()
    for node, pool in zip(nodes, pools, strict=True):
        given = (pool.organisation, pool.not_for)
        if accepted.setdefault(pool.platform, given) != given:
            raise node.error(
                f"all {pool.platform} pools of a worker need the same organisation and not_for: give other pools to "
                "another worker"
            )


def _pool(node: Node, addresses: Sequence[str], *, simulated: bool) -> Pool:
    entries = node.fields((*_COMMON, *_SIMULATED, *_WEBDRIVER), required=("platform", "kind"))
    platform = entries["platform"].choice(PLATFORMS)
    kind = entries["kind"].choice(_OTHER_KIND)
    if kind == "simulated" and not simulated:
        raise entries["kind"].error(
            "simulated devices run a model instead of the app: set MOBILETEST_SIMULATED_DEVICES=true to allow them"
        )
    for name in _OTHER_KIND[kind]:
        if name in entries:
            raise entries[name].error_at_key(f"{name} does not apply to a pool of kind {kind}: remove it")
    labels = read_optional(entries, "labels", _labels) or ()
    return Pool(
        name=read_optional(entries, "name", lambda node: node.string(limit=100).strip()) or f"{kind}-{platform}",
        platform=platform,
        slots=read_optional(entries, "slots", lambda node: node.integer(1, SLOTS_LIMIT)) or DEFAULT_SLOTS,
        pace=_pace(entries),
        hub=_hub(node, entries, addresses) if kind == "webdriver" else None,
        labels=labels,
        organisation=read_optional(entries, "organisation", _organisation),
        not_for=frozenset(read_optional(entries, "not_for", _organisations) or ()),
    )


def _organisation(node: Node) -> str:
    org_id = node.string(limit=200).strip()
    if not org_id:
        raise node.error("expected the id of an organisation")
    return org_id


def _organisations(node: Node) -> tuple[str, ...]:
    return tuple(_organisation(each) for each in node.items())


def _labels(node: Node) -> tuple[str, ...]:
    if len(node.items()) > LABELS_LIMIT:
        raise node.error(f"more than {LABELS_LIMIT} labels")
    return tuple(label.string(limit=60).strip() for label in node.items())


def _pace(entries: Mapping[str, Node]) -> Pace:
    return Pace(
        step=read_optional(entries, "step_delay", lambda node: node.seconds(0, 600)) or 0.0,
        scale=read_optional(entries, "time_scale", lambda node: node.number(0, 10)) or 0.0,
    )


def _hub(node: Node, entries: Mapping[str, Node], addresses: Sequence[str]) -> HubTarget:
    if "url" not in entries:
        raise node.error("url is missing: a pool of kind webdriver needs the URL of its hub")
    url = _url(entries["url"])
    capabilities = read_optional(entries, "capabilities", read_capabilities)
    timeout = read_optional(entries, "new_command_timeout", lambda node: node.seconds(10, 3600))
    delivery = read_optional(entries, "app", lambda node: AppDelivery(node.choice(AppDelivery)))
    usual = AppDelivery.PATH if is_loopback(url.hostname or "") else AppDelivery.URL
    return HubTarget(
        url=url.geturl().rstrip("/"),
        capabilities=capabilities or {},
        app_delivery=delivery or usual,
        new_command_timeout=timeout or NEW_COMMAND_SECONDS,
        addresses=_addresses(entries.get("allowed_addresses"), addresses),
        allowed_apps=frozenset(read_optional(entries, "allowed_apps", _app_ids) or ()),
        dedicated=read_optional(entries, "organisation", _organisation) is not None,
    )


def _app_ids(node: Node) -> tuple[str, ...]:
    return tuple(each.string(limit=255).strip() for each in node.items())


def _addresses(node: Node | None, everywhere: Sequence[str]) -> AddressPolicy:
    """The public addresses, those that are allowed on all pools, and those of this pool."""
    if node is None:
        return AddressPolicy.parse(everywhere)
    try:
        return AddressPolicy.parse((*everywhere, *(each.string(limit=255) for each in node.items())))
    except ValueError as error:
        raise node.error(f"expected host names, addresses and networks: {error}") from error


def _url(node: Node) -> SplitResult:
    try:
        url = urlsplit(node.string(limit=2_000).strip())
        has_host = bool(url.hostname) and url.port != 0
    except ValueError as error:
        raise node.error(f"invalid URL: {error}") from error
    if url.scheme not in ("http", "https") or not has_host:
        raise node.error("expected a URL such as http://127.0.0.1:4723")
    if url.username is not None or url.password is not None:
        raise node.error("the URL must not contain a user or password: it is shown and stored")
    if url.query or url.fragment:
        raise node.error("the URL of a hub must not have a query or fragment")
    return url


def is_loopback(host: str) -> bool:
    """Whether the host is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


# Standard names (https://www.w3.org/TR/webdriver2/#capabilities); all others have a vendor prefix.
STANDARD_CAPABILITIES = (
    "acceptInsecureCerts",
    "browserName",
    "browserVersion",
    "pageLoadStrategy",
    "platformName",
    "proxy",
    "setWindowRect",
    "strictFileInteractability",
    "timeouts",
    "unhandledPromptBehavior",
    "userAgent",
    "webSocketUrl",
)

_VENDOR = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,60}:[^\s:]\S{0,100}", re.ASCII)
_RESERVED = {
    "app": "the service passes the build under test to the hub: remove it",
    "newCommandTimeout": "set new_command_timeout, in seconds, beside capabilities",
}


def read_capabilities(node: Node) -> Mapping[str, Json]:
    """The capabilities as JSON.

    Raises:
        DocumentError: for a name without vendor prefix, and for reserved ones.
    """
    for name, value in node.mapping().items():
        _check_name(name, value)
    return {name: _json(value) for name, value in node.mapping().items()}


def _check_name(name: str, value: Node) -> None:
    if name in STANDARD_CAPABILITIES:
        return
    if not _VENDOR.fullmatch(name):
        hint = suggest(name, STANDARD_CAPABILITIES) or f"; add a vendor prefix, such as appium:{name}"
        raise value.error_at_key(f"{quote(name)} is not a standard capability{hint}")
    _reject_reserved(name.removeprefix("appium:"), value)
    if name == "appium:options":
        for option, inside in value.mapping().items():
            _reject_reserved(option, inside)


def _reject_reserved(name: str, value: Node) -> None:
    if name in _RESERVED:
        raise value.error_at_key(f"appium:{name} cannot be set here: {_RESERVED[name]}")


def _json(node: Node) -> Json:
    """The node's value; the depth of documents is limited."""
    if isinstance(node.value, tuple):
        return [_json(item) for item in node.value]
    if isinstance(node.value, Mapping):
        return {name: _json(item) for name, item in node.value.items()}
    return node.value

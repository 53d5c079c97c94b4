"""Which links tests may open: public web addresses, those that an operator allows, and deep links into apps.

Hubs, phones and browsers may stand in a private network, of which tests must reach nothing else. Parsers differ in what
they make of odd URLs, so these are refused instead of interpreted. Redirects, scripts in pages and names that resolve
differently later cannot be seen here: the network of the hubs must refuse them (docs/devices.md).
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
# The IP addresses of a host name; empty when they cannot be found out.
Resolve: TypeAlias = Callable[[str], Awaitable[Iterable[str]]]

RESOLVE_SECONDS = 2.0
# Schemes that run scripts, read files, install apps, start any app, or open a web address unseen.
REFUSED_SCHEMES = frozenset(
    {
        "about",
        "android-app",
        "blob",
        "brave",
        "chrome",
        "chrome-extension",
        "com-apple-mobilesafari-tab",
        "content",
        "data",
        "devtools",
        "file",
        "filesystem",
        "firefox",
        "firefox-focus",
        "ftp",
        "googlechrome",
        "googlechromes",
        "intent",
        "itms-services",
        "jar",
        "javascript",
        "microsoft-edge",
        "vbscript",
        "view-source",
        "ws",
        "wss",
    }
)

# How schemes of browsers end whose links are web addresses in other words: x-safari-https://localhost/.
_BROWSERS = ("-http", "-https")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE | re.ASCII)
_WEB = re.compile(r"https?://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{0,5})?(?:[/?#].*)?", re.IGNORECASE | re.ASCII)
_ODD = re.compile(r"[\x00-\x20\x7f\\]")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE | re.ASCII)
_PRIVATE_NAMES = frozenset(["corp", "home", "internal", "intranet", "lan", "local", "localdomain", "localhost", "svc"])
# Public addresses that a cloud answers inside its machines (Azure, Oracle).
_PLATFORM_NETWORKS = (IPv4Network("168.63.129.16/32"), IPv4Network("192.0.0.0/24"))
# The public addresses of version 6; some of the others mean addresses of version 4, or lead into a site.
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_HOW_TO_ALLOW = "MOBILETEST_ALLOWED_ADDRESSES, or allowed_addresses of a device pool, allows it"


class AddressRefused(ValueError):
    """The link must not be opened; the message says why and what to do."""


def web_host(url: str) -> str | None:
    """The host of an http or https URL in lower case; None for a deep link.

    Raises:
        AddressRefused: for any other text.
    """
    scheme = _SCHEME.match(url)
    if scheme is None or _ODD.search(url):
        raise AddressRefused(
            "expected a URL such as https://example.com/page, without spaces, backslashes and controls"
        )
    name = scheme[1].lower()
    if _is_refused(name):
        raise AddressRefused(f"{name}: links are refused; use an http or https URL")
    if name not in ("http", "https"):
        return None
    match = _WEB.fullmatch(url)
    if match is None:
        raise AddressRefused(
            "expected a URL such as https://example.com/page: no user or password, a host in ASCII (xn--... for others)"
        )
    return _normalize_host(match[1].lower())


def _is_refused(scheme: str) -> bool:
    return scheme in REFUSED_SCHEMES or scheme.endswith(_BROWSERS)


def check_scheme(text: str) -> None:
    """Check a text that a browser would open as a link.

    Raises:
        AddressRefused: its scheme is refused.
    """
    scheme = _SCHEME.match(_ODD.sub("", text))
    if scheme is not None and _is_refused(scheme[1].lower()):
        raise AddressRefused(f"{scheme[1].lower()}: links are refused; use an http or https URL")


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """Public addresses are allowed; private ones only if their name or network is listed."""

    names: frozenset[str] = frozenset()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def parse(cls, entries: Iterable[str]) -> "AddressPolicy":
        """From host names (`shop.internal`, `*.internal`), addresses and networks (10.1.0.0/16).

        Raises:
            ValueError: it is malformed.
        """
        names, networks = set[str](), list[IPv4Network | IPv6Network]()
        for entry in filter(None, (each.strip().lower() for each in entries)):
            if re.fullmatch(r"(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*", entry) and not _NUMBER.fullmatch(
                entry.split(".")[-1]
            ):
                names.add(entry)
            else:
                networks.append(ip_network(entry.strip("[]")))
        return cls(frozenset(names), tuple(networks))

    def check(self, url: str) -> None:
        """Check a web address; deep links are allowed.

        Raises:
            AddressRefused: it is not allowed.
        """
        host = web_host(url)
        if host is None or self.lists(host):
            return
        address = _literal_address(host)
        if address is None and ("." not in host or host.rsplit(".", 1)[-1] in _PRIVATE_NAMES):
            raise AddressRefused(f"{host} is a name of a private network, which tests cannot open: {_HOW_TO_ALLOW}")
        if address is not None:
            self._check_address(host, address)

    async def check_resolved(self, url: str, resolve: Resolve | None = None) -> None:
        """As `check`, and for the addresses that a host name has now, if they can be found out."""
        self.check(url)
        host = web_host(url)
        if host is None or self.lists(host) or _literal_address(host) is not None:
            return
        for address in await (resolve or resolve_host)(host):
            self._check_address(f"{host} ({address})", ip_address(address))

    def check_address(self, host: str, address: str) -> None:
        """Check an address of a host, where it is connected to.

        Raises:
            AddressRefused: it is not allowed.
        """
        if not self.lists(host):
            self._check_address(f"{host} ({address})", ip_address(address))

    def lists(self, host: str) -> bool:
        """Whether the name of a host is listed, or every name is."""
        if EVERY_NAME in self.names:
            return True
        parents = host.split(".")[1:]
        return host in self.names or any(f"*.{'.'.join(parents[at:])}" in self.names for at in range(len(parents)))

    def _check_address(self, shown: str, address: Address) -> None:
        for each in _meanings(address):
            if not _is_public(each) and not any(each in network for network in self.networks):
                raise AddressRefused(f"{shown} is not a public address, so tests cannot open it: {_HOW_TO_ALLOW}")


# Lists all hosts. Settings cannot say it.
EVERY_NAME = "*"
PUBLIC_ONLY = AddressPolicy()
# For tests that run on the machine of their author.
EVERYWHERE = AddressPolicy(frozenset({EVERY_NAME}))


async def resolve_host(host: str) -> list[str]:
    """By the name servers of this process, within RESOLVE_SECONDS."""
    import dns.asyncresolver  # here, because it takes 2.5 MiB and only workers with hubs or scripts resolve names
    import dns.exception

    addresses: list[str] = []
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            addresses += (await dns.asyncresolver.resolve_name(host, lifetime=RESOLVE_SECONDS)).addresses()
    except (dns.exception.DNSException, OSError, TimeoutError):
        return []
    return addresses


def _normalize_host(host: str) -> str:
    """The host without final dots and brackets. Raise AddressRefused for a number that only some parsers read."""
    if host.startswith("["):
        try:
            return str(IPv6Address(host[1:-1]))
        except ValueError as error:
            raise AddressRefused(f"{host} is not an IPv6 address") from error
    host = host.rstrip(".")
    labels = host.split(".")
    if not all(labels):
        raise AddressRefused("the URL has no valid host name")
    if _NUMBER.fullmatch(labels[-1]) and _literal_address(host) is None:
        raise AddressRefused(f"{host}: write an IPv4 address as four decimal numbers")
    return host


def _literal_address(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _meanings(address: Address) -> list[Address]:
    """The address, and the IPv4 addresses that an IPv6 address stands for."""
    if isinstance(address, IPv4Address):
        return [address]
    inside = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        inside.append(IPv4Address(int(address) & 0xFFFFFFFF))
    embedded: list[Address] = [each for each in inside if each is not None]
    return embedded if address.ipv4_mapped or address in _NAT64 else [address, *embedded]


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    return address.is_global and not address.is_multicast and not any(address in each for each in _PLATFORM_NETWORKS)

"""Tests open public addresses; private ones, and what parsers read differently, are refused unless they are allowed."""

import pytest

from mobiletest_automation.web_addresses import PUBLIC_ONLY, AddressPolicy, AddressRefused, check_scheme, web_host

PRIVATE = [
    "http://127.0.0.1/",
    "http://127.0.0.1./",
    "HTTP://LOCALHOST:8080",
    "http://api.localhost/",
    "http://0.0.0.0/",
    "http://10.1.2.3/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://224.0.0.1/",
    "http://[::1]/",
    "http://[::]/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[64:ff9b::a00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[fec0::1]/",
    "http://[64:ff9b:1::a00:1]/",
    "http://metadata.google.internal/",
    "http://metadata/",
    "http://kubernetes.default.svc",
    "http://printer.local.",
    "http://build-server/",
]
ODD = [
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://example.com@127.0.0.1/",
    "http://user:secret@example.com/",
    "http:/\\127.0.0.1/",
    "http:\\\\127.0.0.1/",
    "http://exam\tple.com/",
    "http://example.com/\n",
    " http://example.com/",
    "http:example.com",
    "http:///example.com",
    "http://%3127.0.0.1/",
    "http://\u2460\u2461\u2466.0.0.1/",
    "http://b\u00fccher.example/",
    "http://x.localho\u017ft:4723/",
    "http://api.loca\u217c/",
    "http://\u212aitchen.internal/",
    "http\u017f://example.com/",
    "http://example.com:\u0664\u0662/",
    "http://[fe80::1%25eth0]/",
    "http://[1::2::3]/",
    "http://example..com/",
    "http://./",
    "http://example.com:99999999/",
    "//example.com/",
    "example.com",
    "",
]
REFUSED = ["javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "file:///etc/passwd", "chrome://version"]
REFUSED += ["intent://x#Intent;scheme=http;end", "view-source:http://10.0.0.1/", "content://sms", "about:blank"]
REFUSED += ["x-safari-https://127.0.0.1/", "com-apple-mobilesafari-tab:http://10.0.0.1/", "Opera-HTTP://localhost/"]
REFUSED += ["firefox://open-url?url=http://localhost", "microsoft-edge:http://10.0.0.1/", "brave://open-url?url=x"]
ALLOWED = [
    "https://example.com",
    "https://example.com:8443/a?b=c#d",
    "http://8.8.8.8/",
    "http://[2606:4700::1111]/",
    "http://[64:ff9b::808:808]/",
    "https://xn--bcher-kva.example/stra\u00dfe",
    "shop://cart/1?x=http://10.0.0.1",
    "mailto:ada@example.com",
]


@pytest.mark.parametrize("url", [*PRIVATE, *ODD, *REFUSED])
def test_private_odd_and_dangerous_links_are_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        PUBLIC_ONLY.check(url)


@pytest.mark.parametrize("url", ALLOWED)
def test_public_addresses_and_deep_links_are_allowed(url: str) -> None:
    PUBLIC_ONLY.check(url)


@pytest.mark.parametrize("url", PRIVATE)
def test_a_refusal_says_how_an_operator_allows_the_address(url: str) -> None:
    with pytest.raises(AddressRefused, match="MOBILETEST_ALLOWED_ADDRESSES"):
        PUBLIC_ONLY.check(url)


def test_listed_names_and_networks_are_allowed_and_nothing_else() -> None:
    policy = AddressPolicy.parse(["shop.internal", " *.lab.internal ", "10.1.0.0/16", "127.0.0.1", "::1", "", "Box"])
    for url in (
        "http://SHOP.internal./",
        "http://a.b.lab.internal/",
        "http://10.1.255.1/",
        "http://[::1]/",
        "http://box",
    ):
        policy.check(url)
    policy.check("http://[::ffff:127.0.0.1]/")
    for url in (
        "http://x.shop.internal/",
        "http://lab.internal/",
        "http://10.2.0.1/",
        "http://127.0.0.2/",
        "http://boxes",
    ):
        with pytest.raises(AddressRefused):
            policy.check(url)


@pytest.mark.parametrize("entry", ["10.0.0.0/33", "10.0.0.1/8", "http://x", "a b", "*", "*.", "1.2.3"])
def test_an_entry_that_is_neither_name_nor_network_is_an_error(entry: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        AddressPolicy.parse([entry])


async def test_a_public_name_with_a_private_address_is_refused_when_it_is_opened() -> None:
    async def resolve(host: str) -> list[str]:
        assert host == "shop.example"
        return ["93.184.216.34", "169.254.169.254"]

    PUBLIC_ONLY.check("http://shop.example/")
    with pytest.raises(AddressRefused, match=r"shop\.example \(169\.254\.169\.254\) is not a public address"):
        await PUBLIC_ONLY.check_resolved("http://shop.example/", resolve)
    await AddressPolicy.parse(["169.254.0.0/16"]).check_resolved("http://shop.example/", resolve)
    await AddressPolicy.parse(["shop.example"]).check_resolved("http://shop.example/", resolve)


async def test_what_cannot_be_resolved_here_and_what_needs_no_resolving_is_allowed() -> None:
    """Hubs may have name servers of their own."""

    async def nothing(host: str) -> list[str]:
        assert host == "shop.example"
        return []

    for url in ("http://shop.example/", "http://8.8.8.8/", "shop://cart"):
        await PUBLIC_ONLY.check_resolved(url, nothing)


def test_deep_links_have_no_host() -> None:
    assert web_host("shop://cart") is None
    assert web_host("https://Shop.Example./") == "shop.example"


@pytest.mark.parametrize("text", [*REFUSED, " javascript:1", "java\nscript:1", "\x01JAVASCRIPT:1"])
def test_links_of_refused_schemes_are_found_as_browsers_read_them(text: str) -> None:
    with pytest.raises(AddressRefused, match="use an http or https URL"):
        check_scheme(text)
    check_scheme(f"builds/{text}")

"""Which app a file is a build of."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from mobiletest_cli.api import Api
from mobiletest_cli.errors import USAGE, CliError
from mobiletest_cli.lookup import app_of_file, find_app, find_test, find_workflow

FILE = Path("app.apk")


@dataclass
class FakeApps:
    """Lists Android apps by name, with the packages of their builds, newest first."""

    packages: Mapping[str, Sequence[str | None]] = field(default_factory=dict)

    def pages(self, path: str, *, limit: int = 100, platform: str = "", package_name: str = "") -> Iterator[Any]:
        if path == "apps":
            named = [name for name, packages in self.packages.items() if not package_name or package_name in packages]
            return iter([{"id": name, "name": name} for name in named[:limit] if platform == "Android"])
        return iter([{"package_name": package} for package in self.packages[path.split("/")[1]]][:limit])


def app_of(package: str | None, platform: str = "Android", **apps: Sequence[str | None]) -> str | None:
    app = app_of_file(cast("Api", FakeApps(apps)), FILE, platform, package)
    return app["name"] if app else None


SHOP, BANK = ("com.shop.beta", "com.shop"), ("com.bank",)


@pytest.mark.parametrize(
    ("package", "expected"), [("com.shop", "Shop"), ("com.shop.beta", "Shop"), ("com.bank", "Bank")]
)
def test_the_package_decides_between_apps(package: str, expected: str) -> None:
    assert app_of(package, Shop=SHOP, Bank=BANK) == expected


@pytest.mark.parametrize(
    ("package", "builds"),
    [("com.shop", ()), (None, SHOP), ("com.shop", (None,)), ("com.shop.debug", ("com.shop",)), ("com.a", ("com.a.b",))],
)
def test_the_only_app_of_a_platform_takes_what_may_be_its(package: str | None, builds: Sequence[str | None]) -> None:
    assert app_of(package, Shop=builds) == "Shop"


def test_there_may_be_no_app_of_the_platform() -> None:
    assert app_of("com.shop", "iOS", Shop=SHOP) is None


@pytest.mark.parametrize(
    ("package", "apps", "reason"),
    [
        ("com.shop", {"Shop": SHOP, "Copy": SHOP}, "several apps have builds of com.shop"),
        ("com.new", {"Shop": SHOP, "Bank": BANK}, "several Android apps, and none has a build of com.new"),
        (None, {"Shop": SHOP, "Bank": BANK}, "there are several Android apps"),
        ("com.shopping", {"Shop": SHOP}, "it is com.shopping, and builds of the only Android app are com.shop.beta"),
    ],
)
def test_what_may_be_a_build_of_another_app_is_asked(
    package: str | None, apps: Mapping[str, Sequence[str]], reason: str
) -> None:
    """With the apps that may be meant: a build of the wrong app would change its history."""
    with pytest.raises(CliError) as raised:
        app_of(package, **apps)
    assert raised.value.exit_code == USAGE
    assert reason in raised.value.message
    assert all(name in (raised.value.hint or "") for name in apps)


@dataclass
class FakeCollection:
    """Lists the same items for each collection."""

    items: Sequence[Mapping[str, Any]]

    def pages(self, _: str, **__: Any) -> Iterator[Any]:
        return iter(self.items)


@pytest.mark.parametrize(
    ("find", "items", "candidates"),
    [
        (
            find_app,
            [{"id": "1", "name": "Shop", "platform": "Android"}, {"id": "2", "name": "Shop", "platform": "iOS"}],
            "1 (Shop, Android), 2 (Shop, iOS)",
        ),
        (
            find_test,
            [
                {"id": "1", "name": "Pay", "workspace": "shop", "source_path": "card/pay.yaml", "platform": None},
                {"id": "2", "name": "Pay", "workspace": None, "source_path": None, "platform": "iOS"},
            ],
            "1 (Pay, shop, card/pay.yaml), 2 (Pay, iOS)",
        ),
        (
            find_workflow,
            [
                {"id": "1", "name": "All", "test_ids": ["a"], "tags": []},
                {"id": "2", "name": "All", "test_ids": [], "tags": ["x"]},
            ],
            "1 (All, 1 test), 2 (All, no tests, tag x)",
        ),
    ],
)
def test_candidates_of_an_ambiguous_name_are_distinguishable(find: Any, items: Sequence[Any], candidates: str) -> None:
    with pytest.raises(CliError) as raised:
        find(cast("Api", FakeCollection(items)), items[0]["name"])
    assert (raised.value.exit_code, raised.value.hint) == (USAGE, f"Give an id: {candidates}")

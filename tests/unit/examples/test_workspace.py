"""Loading the example workspace again."""

from typing import Any

from examples.workspace import described, described_tests, load

APPS = [{"id": app["name"], "name": app["name"], "platform": app["platform"]} for app in described("apps.yaml")]
TESTS = [{**test, "id": test["name"], "platform": test.get("platform")} for test in described_tests()]


class LoadedClient:
    """A service that has the whole workspace; notes what is asked of it besides reading."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, str]] = []

    async def call(self, method: str, path: str, **_: Any) -> Any:
        self.changes.append((method, path))
        return {}

    async def every(self, path: str) -> list[Any]:
        resource = path.split("/")[-1]
        if path.startswith("apps/"):
            return {"tests": [{"test_id": test["id"]} for test in TESTS], "builds": every_build()}[resource]
        return {"apps": APPS, "tests": TESTS, "workflows": [{"id": "w", **described("workflow.yaml")}]}[resource]


def every_build() -> list[Any]:
    versions = {str(build["version"]) for app in described("apps.yaml") for build in app["builds"]}
    return [{"id": version, "version": version} for version in sorted(versions)]


async def test_what_is_there_already_is_left_as_it_is_pins_included() -> None:
    client = LoadedClient()
    await load(client)  # type: ignore[arg-type]
    assert client.changes == []

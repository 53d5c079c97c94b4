"""Results of one app, platform and variant stand in one strip, without those of others."""

from typing import Any

from services.gateway.dashboard.run_strips import strips_of


def run(number: int, app: str | None, platform: str = "Android", **fields: Any) -> dict[str, Any]:
    known = {} if app is None else {"app_id": app}
    return {"run_id": str(number), "metadata": {"platform": platform}, **known, **fields}


def test_a_pass_on_another_app_is_no_recovery() -> None:
    german = {"id": "de", "values": {"LOCALE": "de"}}
    runs = [run(5, "ios", "iOS"), run(4, "android"), run(3, "android", variant=german), run(2, "android"), run(1, None)]
    strips = strips_of(runs, {"android": {"app_name": "Bank"}})
    assert [[each["run_id"] for each in strip.runs] for strip in strips] == [["5"], ["4", "2"], ["3"], ["1"]]
    assert [strip.app and strip.app["app_name"] for strip in strips] == [None, "Bank", "Bank", None]
    assert [strip.platform for strip in strips] == ["iOS", "Android", "Android", "Android"]
    assert strips[2].variant == german

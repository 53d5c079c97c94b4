"""Groups of failures over REST: found by message, as objects, with what people write about them."""

from typing import Any

import pytest

from tests.e2e.client import created
from tests.e2e.test_gate import Ci
from tests.e2e.test_http import etag as etag_of
from tests.e2e.world import World


@pytest.fixture
async def ci(world: World) -> Ci:
    return await Ci(world)()


async def failure_of(ci: Ci, execution: Any) -> Any:
    """The group of the failure of "Pay" in the execution; its gate has all runs."""
    [reason] = [each for each in (await ci.gate(execution))["reasons"] if each["test_name"] == "Pay"]
    return reason


async def test_a_failure_is_found_written_about_and_named_by_the_gate(ci: Ci) -> None:
    api = ci.world.api
    _, execution = await ci.run("1", "main", pay=False)
    reason = await failure_of(ci, execution)
    found = created(await api.get("/failures", params={"search": "nothing OF THIS name", "app_id": ci.app["id"]}))
    [item] = found["items"]
    assert (item["fingerprint"], item["count"]) == (reason["failure_fingerprint"], 1)
    assert "triage" not in item
    assert item["last_seen"]["run_id"] == reason["run_id"]
    path = f"/apps/{ci.app['id']}/failures/{item['fingerprint']}"
    known = created(await api.get(path))
    assert [test["test_name"] for test in known["tests"]] == ["Pay"]
    assert [each["version"] for each in known["builds"]] == ["1"]
    assert [day["count"] for day in known["trend"]] == [1]

    before = await api.get(f"{path}/triage")
    change = {"state": "fixed", "fixed_in": "0.9", "note": "The bank is slow", "owner": "Ana"}
    etag = etag_of(before)
    written = created(await api.patch(path, change, headers={"If-Match": etag}))
    assert (written["state"], written["note"], written["ticket_url"]) == ("fixed", "The bank is slow", None)
    assert (await api.patch(path, {"note": None}, headers={"If-Match": etag})).status == 412
    assert created(await api.get(path))["triage"] == written  # reporting has waited for it
    after = await failure_of(ci, execution)
    assert after["rule"] == reason["rule"]
    assert after["triage"] == written
    assert 'said to be fixed in 0.9: "The bank is slow", owner Ana.' in after["detail"]
    states = [created(await api.get("/failures", params={"state": state}))["total"] for state in ("open", "fixed")]
    assert states == [0, 1]
    created(await api.patch(path, {"fixed_in": "1"}))  # of the build on which it occurred
    assert created(await api.get(path))["reopened"] is False
    assert created(await api.get("/failures", params={"state": "open"}))["total"] == 0
    created(await api.patch(path, dict.fromkeys(change)))
    assert "triage" not in created(await api.get(path))


async def test_bad_input_is_refused_with_what_to_do(ci: Ci) -> None:
    api, app = ci.world.api, f"/apps/{ci.app['id']}/failures"
    for fingerprint in ("x", "0" * 15, "A" * 16):
        assert (await api.patch(f"{app}/{fingerprint}", {"note": "n"})).status == 422
    assert (await api.get(f"{app}/{'0' * 16}")).status == 404
    for change in ({"ticket_url": "javascript:alert(1)"}, {"fixed_in": "1"}, {"state": "closed"}, {"note": "n" * 2001}):
        answer = await api.patch(f"{app}/{'0' * 16}", change)
        assert answer.status == 422, change
    assert (await api.get("/failures", params={"search": "%00" * 3})).status == 200

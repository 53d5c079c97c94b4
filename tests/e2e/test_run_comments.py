"""Comments of runs over REST."""

from typing import Any

from tests.e2e.client import Api, created
from tests.e2e.world import World


async def test_people_write_about_a_run_and_no_result_changes(world: World, api: Api, foreign: Api) -> None:
    *_, test, workflow = await world.passing_app()
    execution = await world.run(workflow)
    [run] = created(await api.get(f"/executions/{execution['id']}/runs"))["items"]
    of_run = f"/executions/{execution['id']}/runs/{run['id']}"
    assert "comment_count" not in run
    once = {"Idempotency-Key": "comment-1"}
    for _ in range(2):
        comment = created(await api.post(f"{of_run}/comments", {"text": " See SHOP-1\nand SHOP-2 "}, headers=once))
    assert (comment["text"], comment["can_change"]) == ("See SHOP-1\nand SHOP-2", True)
    assert created(await api.get(of_run)) == {**created(await api.get(of_run)), "comment_count": 1}

    scopes = ["read", "write"]
    key = created(await api.post("/settings/api-keys", {"name": "Ben", "scopes": scopes}))
    async with Api(api.url, key["key"]) as other:
        [shown] = created(await other.get(f"{of_run}/comments"))["items"]
        assert shown == {**comment, "can_change": False}
        refused = await other.patch(f"{of_run}/comments/{comment['id']}", {"text": "Not mine"})
        assert (refused.status, refused.body["code"]) == (403, "NOT_THE_AUTHOR")
        theirs = created(await other.post(f"{of_run}/comments", {"text": "Mine"}))
    assert (await api.delete(f"/settings/api-keys/{key['id']}")).status == 204
    page = created(await api.get(f"{of_run}/comments", params={"page": 2, "page_size": 1}))
    assert [(each["by"], each["text"]) for each in page["items"]] == [("Ben", "Mine")]
    assert (await api.delete(f"{of_run}/comments/{theirs['id']}")).status == 204
    await refuses_what_is_wrong(api, foreign, of_run, comment)
    runs: Any = created(await api.get(f"/tests/{test['id']}/runs"))
    assert "comment_count" not in runs["items"][0]  # reports know nothing of them


async def refuses_what_is_wrong(api: Api, foreign: Api, of_run: str, comment: Any) -> None:
    path = f"{of_run}/comments/{comment['id']}"
    for text in ("", " ", "x" * 2001, "a\u0000b", None, 7):
        assert (await api.post(f"{of_run}/comments", {"text": text})).status == 422, text
        assert (await api.patch(path, {"text": text})).status == 422, text
    assert (await foreign.get(f"{of_run}/comments")).status == 404
    assert (await foreign.post(f"{of_run}/comments", {"text": "x"})).status == 404
    assert (await foreign.patch(path, {"text": "x"})).status == 404
    assert (await foreign.delete(path)).status == 404
    assert (await api.delete(path.replace(comment["id"], "x"))).status in (404, 422)

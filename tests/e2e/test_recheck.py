"""Whether a step would have held on the screens of past runs, by POST /tests/{test_id}/recheck."""

from typing import Any

import pytest

from tests.e2e.client import Api
from tests.e2e.world import UNKNOWN, World

# Of the simulated device's built-in app.
LOGIN = [
    "launchApp",
    'I see "Log in"',
    'Type "ada@example.com" into "Email"',
    {"tapOn": {"id": "password"}},
    {"inputText": "lovelace"},
    {"tapOn": {"text": "Log in", "enabled": True}},
    {"assertVisible": "Items"},
    'I do not see "Email"',
    {"repeat": {"times": 2, "commands": ['Tap "Blue mug"', {"tapOn": {"id": "back"}}]}},
    {"assertVisible": {"text": "Nothing", "below": "Items"}},
]
# Every step that looks at the screen, by its path.
DECIDED = {
    *(f"steps[{number}]" for number in (1, 2, 3, 5, 6, 7, 9)),
    *(f"steps[8].repeat.commands[{number}]" for number in (0, 1)),
}


async def ran(world: World, steps: list[Any]) -> Any:
    """A test with these steps whose only run has ended, and the steps of the run."""
    app = await world.app()
    await world.build(app, "1.0.0")
    test = await world.test(steps, app=app)
    config = {"execution_mode": {"retries": 0}}
    run = await world.only_run(await world.run(await world.workflow(test), run_config=config))
    return test, run["attempts"][-1]["steps"]


async def recheck(api: Api, test: Any, **request: object) -> Any:
    answer = await api.post(f"/tests/{test['id']}/recheck", request)
    assert answer.status == 200, answer.text
    return answer.body


def total(counts: Any) -> tuple[int, int, int]:
    return counts["holds"], counts["does_not_hold"], counts["not_known"]


async def test_what_is_decided_of_a_run_is_what_the_run_did(world: World) -> None:
    test, steps = await ran(world, LOGIN)
    paths = [*(f"steps[{number}]" for number in range(9)), *sorted(DECIDED)[-3:-1], "steps[9]"]
    decided = set()
    for path in dict.fromkeys(paths):
        answer = await recheck(world.api, test, step_path=path)
        assert answer["passed"]["does_not_hold"] == answer["failed"]["holds"] == 0, answer
        if answer["passed"]["holds"] or answer["failed"]["does_not_hold"]:
            decided.add(path)
    assert decided == DECIDED
    assert steps[-1]["status"] == "failed"
    rounds = await recheck(world.api, test, step_path="steps[8].repeat.commands[0]")
    assert total(rounds["passed"]) == (2, 0, 0)
    assert [example["step_index"] for example in rounds["examples"][:2]] == [9, 11]
    assert {example["screen"] for example in rounds["examples"][:2]} <= {
        step["screen"]["tree"] for step in steps if "screen" in step
    }


async def test_a_changed_step_holds_or_not_where_the_old_one_ran(world: World) -> None:
    test, _ = await ran(world, LOGIN[:7])
    right = await recheck(world.api, test, step='Tap "Log in"', step_path="steps[3]")
    assert total(right["passed"]) == (0, 1, 0)  # the button is disabled yet
    wrong = await recheck(world.api, test, flow="- tapOn: Sign in", step_path="steps[5]")
    assert (wrong["step"], wrong["runs"], total(wrong["passed"])) == ('tapOn: "Sign in"', 1, (0, 1, 0))
    (reason,) = [reason for reason in wrong["reasons"] if reason["group"] == "passed"]
    assert (reason["verdict"], reason["count"]) == ("does_not_hold", 1)
    assert reason["reason"] == wrong["examples"][0]["reason"] != ""
    renamed = await recheck(world.api, test, step={"tapOn": {"id": "log_in"}}, step_path="steps[5]")
    assert total(renamed["passed"]) == (1, 0, 0)
    assert "log_in" in renamed["examples"][0]["element"]


async def test_a_new_step_says_where_it_would_hold(world: World) -> None:
    test, _ = await ran(world, LOGIN[:7])
    answer = await recheck(world.api, test, step={"assertVisible": "Items"})
    assert total(answer["passed"]) == total(answer["failed"]) == (0, 0, 0)
    assert [(step["text"], total(step["screens"])) for step in answer["other_steps"]] == [
        ('assertVisible: "Items"', (1, 0, 0))
    ]
    assert answer["asserts_nothing"] is False
    assert (await recheck(world.api, test, step="See that nothing is red"))["others"]["holds"] == 0
    everywhere = await recheck(world.api, test, step={"assertNotVisible": "Nothing of this name"})
    assert everywhere["asserts_nothing"] is True


async def test_a_test_without_runs_says_nothing(world: World) -> None:
    answer = await recheck(world.api, await world.test(), step_path="steps[1]", platform="iOS")
    assert (answer["runs"], total(answer["passed"]), answer["examples"]) == (0, (0, 0, 0), [])
    assert answer["asserts_nothing"] is None


@pytest.mark.parametrize(
    ("request_body", "field"),
    [
        ({}, "step"),
        ({"step": "Tap it", "flow": "- Tap it"}, "step"),
        ({"step": {"tapOnn": "x"}}, "step"),
        ({"step": [1]}, "step"),
        ({"step": "x" * 501}, "step"),
        ({"flow": "- tapOnn: x"}, "flow"),
        ({"flow": "- Tap it\n- Tap it"}, "flow"),
        ({"step": "Tap it", "step_path": "steps[7]"}, "step_path"),
        ({"step_path": "steps[0][0].x"}, "step_path"),
    ],
    ids=str,
)
async def test_what_is_wrong_is_named(world: World, request_body: dict[str, object], field: str) -> None:
    test = await world.test()
    answer = await world.api.post(f"/tests/{test['id']}/recheck", request_body)
    assert (answer.status, answer.locations()) == (422, [["body", field]])


async def test_tests_of_others_are_not_found(world: World, foreign: Api) -> None:
    test = await world.test()
    for test_id in (test["id"], UNKNOWN):
        answer = await foreign.post(f"/tests/{test_id}/recheck", {"step": "Tap it"})
        assert (answer.status, answer.body["code"]) == (404, "NOT_FOUND")

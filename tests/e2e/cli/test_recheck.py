"""`mobiletest recheck`: steps on the screens of past runs."""

import pytest

from mobiletest_cli.errors import FAILED, INVALID_FILE, NOT_FOUND, OK, USAGE
from tests.e2e.cli.conftest import Shell

SIGN_IN = """appId: com.example.shop
name: Sign in
---
- launchApp
- Type "ada@example.com" into "Email"
- runFlow:
    commands:
    - assertVisible: Log in
- assertNotVisible: Items
"""


@pytest.fixture
async def project(shop: Shell) -> Shell:
    """A test that has been run once."""
    shop.write({".maestro/log-in.yaml": SIGN_IN})
    await shop.run("run", "--test", "Sign in")
    return shop


async def test_the_steps_of_a_test_hold_where_they_ran(project: Shell) -> None:
    ended = await project.run("recheck", "Sign in", "--json")
    assert ended.code == OK, ended.out
    items = ended.document["items"]
    assert [(item["number"], item["step_path"], item["passed"]["holds"]) for item in items] == [
        (1, "steps[1]", 0),
        (2, "steps[2]", 1),
        (4, "steps[3].runFlow.commands[0]", 1),
        (5, "steps[4]", 1),
    ]
    shown = (await project.ok("recheck", "Sign in")).out
    assert "no screens" in shown
    assert "holds on every screen of other steps" in shown
    (one,) = (await project.document("recheck", "Sign in", "--step", "4"))["items"]
    (other,) = (await project.document("recheck", "Sign in", "--step", "4", "--platform", "iOS"))["items"]
    assert (other["runs"], one["runs"], one["step"]) == (0, 1, 'assertVisible: "Log in"')


async def test_a_step_that_does_not_hold_is_a_failure(project: Shell) -> None:
    for step in ('Type "ada" into "Name"', "tapOn: Name", '{"tapOn": "Name"}'):
        ended = await project.run("recheck", "Sign in", step, "--step", "2")
        assert (ended.code, "failed" in ended.out) == (FAILED, True), ended.err
    assert (await project.run("recheck", "Sign in", 'I see "Email"', "--step", "2")).code == OK
    assert "new" in (await project.ok("recheck", "Sign in", "assertVisible: Nothing of this name")).out


async def test_the_steps_of_a_changed_flow_are_checked_in_their_places(project: Shell) -> None:
    changed = SIGN_IN.replace('"Email"', '"Name"').replace("- assertNot", "- assertVisible: Log in\n- assertNot")
    project.write({"changed/log-in.yaml": changed})
    ended = await project.run("recheck", "Sign in", "--file", "changed/log-in.yaml", "--json")
    assert ended.code == FAILED
    assert [(item["step_path"], item["passed"]["does_not_hold"]) for item in ended.document["items"]] == [
        ("steps[1]", 0),
        ("steps[2]", 1),
        ("steps[3].runFlow.commands[0]", 0),
        (None, 0),
        ("steps[4]", 0),
    ]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("Nobody",), NOT_FOUND),
        (("Sign in", "--step", "6"), NOT_FOUND),
        (("Sign in", "--platform", "Windows"), USAGE),
        (("Sign in", "Tap it", "--file", "flow.yaml"), USAGE),
        (("Sign in", "--file", "broken.yaml"), INVALID_FILE),
        (("Sign in", "tapOnn: x"), USAGE),
    ],
    ids=str,
)
async def test_what_is_wrong_is_named(read_shop: Shell, arguments: tuple[str, ...], code: int) -> None:
    read_shop.write({"broken.yaml": "appId: a\n---\n- tapOnn: x\n"})
    ended = await read_shop.run("recheck", *(argument.replace("Sign in", "Log in") for argument in arguments))
    assert (ended.code, ended.err.startswith("error:")) == (code, True), ended.err

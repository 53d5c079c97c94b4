"""`--from` and `--until`: which steps run, what is refused, and that a part never passes for the whole test."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from mobiletest_cli.errors import FAILED, NO_VERDICT, OK, USAGE, CliError
from mobiletest_cli.local_run.devices import ChosenDevice
from mobiletest_cli.local_run.preparation import prepare
from mobiletest_cli.output import Output
from mobiletest_cli.selection import Selection
from tests.unit.cli.local_shell import FAILING, PASSING, LocalShell

FLOW = """appId: com.example.shop
name: Log in
onFlowComplete:
  - back
---
- launchApp
# what the start screen has
- assertVisible:
    text: Log in

- runFlow: sub.yaml
- repeat: {times: 2, commands: [{assertVisible: Log in}]}
- assertVisible: Log in
"""
SUBFLOW = """appId: com.example.shop
---
- assertVisible: Log in
- assertVisible: Log in
"""


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LocalShell:
    shell = LocalShell(tmp_path, capsys)
    shell.write(flow=FLOW, sub=SUBFLOW)
    return shell


def run_steps(shell: LocalShell, *options: str) -> list[int]:
    """The numbers of the steps of the flow that ran."""
    ended = shell.run(".maestro/flow.yaml", "--json", *options)
    assert ended.code == OK, ended.out
    [attempt] = ended.document["runs"][0]["attempts"]
    return [step["index"] + 1 for step in attempt["steps"] if step["message"] != "not selected"]


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        (("--until", "2"), [1, 2]),
        (("--from", "2", "--until", "flow.yaml:11"), [2, 3, 4, 5]),
        (("--from", "3", "--until", "3"), [3, 4, 5]),
        (("--from", ".maestro/flow.yaml:9:5", "--until", "3"), [2, 3, 4, 5]),
        (("--from", "flow.yaml:13"), [8, 9]),
        (("--from", "flow.yaml:4"), [9]),
        (("--from", "../{folder}/.maestro/flow.yaml:13"), [8, 9]),
        (("--from", "{absolute}/.maestro/flow.yaml:13"), [8, 9]),
    ],
)
def test_the_steps_from_one_to_another_run_with_their_usual_numbers(
    shell: LocalShell, options: tuple[str, ...], numbers: list[int]
) -> None:
    names = {"folder": shell.folder.name, "absolute": shell.folder}
    assert run_steps(shell, *(option.format(**names) for option in options)) == numbers


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (("--until", "0"), "there is no step 0: the flow has 9 steps", ""),
        (("--from", "flow.yaml:7"), "no step flow.yaml:7: its steps begin at line 6, 8, 11, 12, 13, 4", ""),
        (("--from", "other.yaml:7"), "no step other.yaml:7: the steps of the flow are in .maestro/flow.yaml", ""),
        (("--from", "4"), "--from 4 is inside step 3 (sub.yaml), which runs as a whole", "Choose --from 3 or 6"),
        (("--until", "sub.yaml:4"), "--until sub.yaml:4 is inside step 3 (sub.yaml)", "Choose --until 3 or 6"),
        (("--from", "8"), "how many steps run before it depends on step 6", "--from .maestro/flow.yaml:13"),
        (("--from", "login"), '--from "login" is not a step', "Such as 3, or flow.yaml:12"),
        (("--from", "3", "--until", "2"), "--until 2 is before --from 3", ""),
    ],
)
def test_an_unknown_step_of_the_flow_is_refused(
    shell: LocalShell, options: tuple[str, ...], message: str, hint: str
) -> None:
    ended = shell.run(".maestro/flow.yaml", *options)
    assert (ended.code, ended.out) == (USAGE, "")
    assert message in ended.err
    assert hint in ended.err


def test_a_folder_of_several_flows_is_refused(shell: LocalShell) -> None:
    ended = shell.run("--from", "2")
    assert (ended.code, "--from and --until are about one flow, and 2 are selected" in ended.err) == (USAGE, True)


def test_without_local_it_is_refused(shell: LocalShell) -> None:
    ended = shell.call("run", "--from", "2")
    assert (ended.code, "--from is for runs in this process" in ended.err) == (USAGE, True)


PART = "steps 2 to 5 of 9"
NOTE = f"Only {PART} ran, so this says nothing of the whole test."


def test_a_passing_part_is_never_shown_as_a_pass_of_the_test(shell: LocalShell) -> None:
    options = (".maestro/flow.yaml", "--from", "2", "--until", "3")
    ended = shell.run(*options, "--junit", "out.xml", "--report", "out.md")
    document = shell.run(*options, "--json").document
    junit = ElementTree.parse(shell.folder / "out.xml").getroot()  # noqa: S314 (our own output)
    [case] = junit.iter("testcase")
    skipped = case.find("skipped")
    assert (ended.code, NOTE in ended.out) == (OK, True)
    assert f"Running only {PART} of .maestro/flow.yaml." in ended.err
    assert (case.get("name"), junit.get("name")) == (f"Log in ({PART})", document["execution"]["name"])
    assert (skipped is not None and skipped.get("message")) == f"Passed in part. {NOTE}"
    assert f"**{NOTE}**" in (shell.folder / "out.md").read_text()
    assert [(run["partial"], run["test_name"]) for run in document["runs"]] == [(NOTE, f"Log in ({PART})")]


def test_a_part_that_fails_has_failed(shell: LocalShell) -> None:
    shell.write(flow=FAILING)
    ended = shell.run(".maestro/flow.yaml", "--from", "2", "--junit", "out.xml")
    [case] = ElementTree.parse(shell.folder / "out.xml").getroot().iter("testcase")  # noqa: S314 (our own output)
    assert (ended.code, case.find("failure") is not None) == (FAILED, True)
    assert "Only step 2 of 2 ran" in ended.out


def test_a_selection_of_all_steps_is_the_whole_test(shell: LocalShell) -> None:
    shell.write(flow=PASSING)
    ended = shell.run(".maestro/flow.yaml", "--from", "1", "--until", "2", "--json")
    assert (ended.document["runs"][0]["test_name"], "partial" in ended.document["runs"][0]) == ("Log in", False)


def test_of_files_with_one_name_the_one_with_the_step_is_meant(shell: LocalShell) -> None:
    (shell.folder / ".maestro/more").mkdir()
    (shell.folder / ".maestro/more/flow.yaml").write_text(f"{SUBFLOW}- assertVisible: Log in\n")
    shell.write(flow="appId: a\n---\n- launchApp\n- runFlow: more/flow.yaml\n- assertVisible: Log in\n")
    ended = shell.run(".maestro/flow.yaml", "--from", "more/flow.yaml:5")
    assert "--from more/flow.yaml:5 is inside step 2" in ended.err
    assert run_steps(shell, "--until", "flow.yaml:4") == [1, 2, 3, 4, 5]


def test_steps_that_are_left_out_need_nothing(shell: LocalShell) -> None:
    shell.write(flow="appId: a\n---\n- launchApp\n- assertWithAI: {assertion: x}\n- tapOn: {css: button}\n")
    assert run_steps(shell, "--until", "1") == [1]
    assert shell.run(".maestro/flow.yaml").code == NO_VERDICT
    assert shell.run(".maestro/flow.yaml", "--from", "3").code == NO_VERDICT


def test_an_app_file_that_would_not_be_installed_is_refused(shell: LocalShell) -> None:
    phone = ChosenDevice("Pixel", "Android", hub="http://127.0.0.1:4723")
    wanted = Selection(paths=[shell.folder / ".maestro/flow.yaml"], app_files=[Path("shop.apk")])
    with pytest.raises(CliError, match=r"goes on with the app on Pixel and would not install shop\.apk"):
        prepare(Output(), wanted, phone, start="2")

"""Steps are written into flow files without touching anything else."""

from pathlib import Path

import pytest

from mobiletest_automation.flows.positions import SourcePosition
from mobiletest_automation.flows.workspace_files import decode_text
from mobiletest_cli.errors import CliError
from mobiletest_cli.local_run.flow_editor import FlowEditor
from mobiletest_cli.workspace import find_files

FLOW = """# header
appId: a
---
- launchApp   # first

# second
-   tapOn:
      id: x
    # not deeper than its key
- repeat:
    times: 2
    commands:
      - back  # "#1"
- tapOn: "# Pay"   # at the end
- runFlow: {commands: [back]}
- back"""
LAUNCH, TAP, BACK, PAY, INLINE, LAST = (
    SourcePosition("flow.yaml", line, column) for line, column in ((4, 3), (7, 5), (13, 9), (14, 3), (15, 23), (16, 3))
)
NEW = "- tapOn: New"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "flow.yaml"
    path.write_text(FLOW)
    return path


def new_editor(path: Path) -> FlowEditor:
    text = decode_text(path.read_bytes())
    return FlowEditor(lambda _: text, lambda file: str(path.parent / file))


@pytest.mark.parametrize(
    ("position", "old", "new"),
    [
        (LAUNCH, "- launchApp   # first\n", "- tapOn: New   # first\n"),
        (TAP, "-   tapOn:\n      id: x\n", "- tapOn: New\n"),
        (BACK, '      - back  # "#1"\n', '      - tapOn: New  # "#1"\n'),
        (PAY, '- tapOn: "# Pay"   # at', "- tapOn: New   # at"),
        (LAST, "[back]}\n- back", "[back]}\n- tapOn: New"),
    ],
)
def test_a_step_is_replaced_and_everything_else_stays(path: Path, position: SourcePosition, old: str, new: str) -> None:
    new_editor(path).replace(position, NEW)
    assert path.read_text() == FLOW.replace(old, new)
    assert [file.name for file in path.parent.iterdir()] == ["flow.yaml"]


def test_a_step_is_inserted_with_the_indentation_of_the_one_after_it(path: Path) -> None:
    new_editor(path).insert(BACK, NEW)
    assert path.read_text() == FLOW.replace("      - back", "      - tapOn: New\n      - back")


def test_later_positions_follow_earlier_edits(path: Path) -> None:
    editor = new_editor(path)
    editor.insert(LAUNCH, "- a")
    editor.replace(LAUNCH, "- b")
    editor.replace(TAP, "- c")
    assert editor.insert(PAY, "- d") == f"{path}:14"
    assert editor.replace(PAY, "- e") == f"{path}:15"
    expected = FLOW.replace("- launchApp", "- a\n- b").replace("-   tapOn:\n      id: x\n", "- c\n")
    assert path.read_text() == expected.replace('- tapOn: "# Pay"', "- d\n- e")


def test_line_ends_and_the_byte_order_mark_stay(path: Path) -> None:
    content = b"\xef\xbb\xbf" + FLOW.replace("\n", "\r\n").encode()
    path.write_bytes(content)
    editor = new_editor(path)
    editor.insert(LAUNCH, NEW)
    editor.replace(LAUNCH, NEW)
    assert path.read_bytes() == content.replace(b"- launchApp", b"- tapOn: New\r\n- tapOn: New")


def test_what_somebody_else_has_changed_is_not_overwritten(path: Path) -> None:
    editor = new_editor(path)
    path.write_text(f"{FLOW}  # mine")
    with pytest.raises(CliError, match="it has changed since the run began"):
        editor.replace(LAUNCH, NEW)
    path.unlink()
    with pytest.raises(CliError, match="the step was not written"):
        editor.insert(LAUNCH, NEW)


def test_a_step_that_shares_its_line_or_was_replaced_is_not_written(path: Path) -> None:
    editor = new_editor(path)
    with pytest.raises(CliError, match="the step in line 15 shares its line with others, or its dash"):
        editor.insert(INLINE, NEW)
    editor.replace(LAUNCH, NEW)
    with pytest.raises(CliError, match="the step of line 4 has been replaced already"):
        editor.replace(LAUNCH, NEW)
    assert path.read_text() == FLOW.replace("- launchApp", NEW)


@pytest.mark.parametrize("step", ['tap the 2nd: button "Pay"', "- a\n- b", "- [", "- a\n", "back", ""])
def test_what_is_no_item_of_a_list_in_one_line_is_not_written(path: Path, step: str) -> None:
    for write in (new_editor(path).replace, new_editor(path).insert):
        with pytest.raises(CliError, match="the step was not written"):
            write(PAY, step)
    assert path.read_text() == FLOW


@pytest.mark.parametrize("step", ["-\n  tapOn: Pay", "- # pay\n  tapOn: Pay"])
def test_a_step_whose_dash_is_in_another_line_is_not_written(path: Path, step: str) -> None:
    path.write_text(f"appId: a\n---\n{step}\n- back\n")
    for write in (new_editor(path).replace, new_editor(path).insert):
        with pytest.raises(CliError, match="its dash is in another line"):
            write(SourcePosition("flow.yaml", 4, 3), NEW)
    assert path.read_text() == f"appId: a\n---\n{step}\n- back\n"


def test_a_step_inside_one_that_was_replaced_is_gone(path: Path) -> None:
    path.write_text("appId: a\n---\n- repeat:\n    commands:\n      - back\n      - scroll\n- back\n")
    editor = new_editor(path)
    inner, last = SourcePosition("flow.yaml", 6, 9), SourcePosition("flow.yaml", 7, 3)
    editor.insert(SourcePosition("flow.yaml", 5, 9), "- tap Pay")
    editor.replace(SourcePosition("flow.yaml", 3, 3), NEW)
    with pytest.raises(CliError, match="the step of line 6 has been replaced already"):
        editor.insert(inner, NEW)
    editor.replace(last, "- scroll")
    assert path.read_text() == f"appId: a\n---\n{NEW}\n- scroll\n"


def test_comments_inside_a_step_are_not_lost(path: Path) -> None:
    path.write_text("appId: a\n---\n- tapOn:\n    # by its id\n    id: x\n")
    with pytest.raises(CliError, match="has comments inside"):
        new_editor(path).replace(SourcePosition("flow.yaml", 3, 3), NEW)


def test_a_step_is_inserted_once(path: Path) -> None:
    editor = new_editor(path)
    editor.insert(BACK, NEW)
    with pytest.raises(CliError, match="inserted before the step of line 13 already"):
        editor.insert(BACK, NEW)
    editor.insert(BACK, "- tapOn: Other")
    assert path.read_text().count(NEW) == 1


def test_a_file_that_is_named_is_not_written_after_somebody_else_changed_it(path: Path) -> None:
    workspace = find_files([path])
    assert workspace.find_flows() is not None
    editor = FlowEditor(workspace.text, workspace.display_path)
    path.write_text(f"- back\n{FLOW}")
    with pytest.raises(CliError, match="it has changed since the run began"):
        editor.replace(LAUNCH, NEW)

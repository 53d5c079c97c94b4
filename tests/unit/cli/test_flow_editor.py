"""Steps are written into flow files without touching anything else."""

from pathlib import Path

import pytest

from mobiletest_automation.flows.positions import SourcePosition
from mobiletest_automation.flows.workspace_files import decode_text
from mobiletest_cli.errors import CliError
from mobiletest_cli.local_run.flow_editor import FlowEditor

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
        (TAP, "-   tapOn:\n      id: x\n    # not deeper than its key\n", "- tapOn: New\n"),
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
    assert editor.insert(PAY, "- d") == f"{path}:13"
    assert editor.replace(PAY, "- e") == f"{path}:14"
    expected = FLOW.replace("- launchApp", "- a\n- b").replace(
        "-   tapOn:\n      id: x\n    # not deeper than its key", "- c"
    )
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
    with pytest.raises(CliError, match="the step in line 15 shares its line with others"):
        editor.insert(INLINE, NEW)
    editor.replace(LAUNCH, NEW)
    with pytest.raises(CliError, match="the step of line 4 has been replaced already"):
        editor.replace(LAUNCH, NEW)
    assert path.read_text() == FLOW.replace("- launchApp", NEW)

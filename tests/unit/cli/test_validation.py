"""How problems of folders are shown, and which of them matter for the flows that are selected."""

import shutil
from pathlib import Path

import pytest

from mobiletest_automation.flows.workspace_media import FILE_BYTES
from mobiletest_cli.validation import NOTICE, Problem, render, validate
from mobiletest_cli.workspace import find_files
from tests.fakes.workspaces import FLOW, PNG
from tests.unit.cli.test_workspace import grow, write

SAMPLES = Path(__file__).parents[1] / "automation" / "flows" / "workspaces"
WRONG = "appId: a\n---\n- launchApp\n- tapOnn: Go\n"


def test_problems_of_flows_that_are_not_selected_do_not_matter(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": FLOW, "b.yaml": WRONG})
    assert validate(find_files([tmp_path / "a.yaml"])) == []
    assert [problem.file for problem in validate(find_files([tmp_path / "b.yaml"]))] == ["b.yaml"]


def test_flow_that_is_named_is_one_whatever_the_configuration_says(tmp_path: Path) -> None:
    config = "flows: tests/*\nexcludeTags: [slow]"
    write(tmp_path, {"config.yaml": config, "tests/a.yaml": FLOW, "more/b.yaml": "tags: [slow]\n---\n- back"})
    workspace = find_files([tmp_path / "more" / "b.yaml"])
    assert validate(workspace) == []
    assert set(workspace.paths) == {"config.yaml", "more/b.yaml"}


def test_notices_are_those_of_the_named_flow_its_parts_and_the_configuration(tmp_path: Path) -> None:
    noticed = "appId: a\nowner: me\n---\n- back\n"
    files = {"other.yaml": noticed, "part.yaml": noticed, "mine.yaml": "- runFlow: part.yaml\n"}
    write(tmp_path, {**files, "config.yaml": "owner: me\n---\nflows: '**'\n"})
    (tmp_path / "link.yaml").symlink_to("nowhere.yaml")
    problems = validate(find_files([tmp_path / "mine.yaml"]))
    assert [(problem.file, problem.line) for problem in problems] == [
        ("config.yaml", 1),
        ("config.yaml", 3),
        ("part.yaml", 2),
    ]


def test_files_that_are_left_out_are_noticed(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": "- addMedia: [cat.mp4]"})
    grow(tmp_path / "cat.mp4", FILE_BYTES + 1)
    missing, left_out = validate(find_files([tmp_path]))
    assert (missing.file, missing.line, missing.column) == ("a.yaml", 1, 14)
    reason = f"left out: has {FILE_BYTES + 1} bytes; at most {FILE_BYTES} are taken"
    assert left_out == Problem("cat.mp4", None, None, reason, NOTICE)


def test_problem_is_shown_with_its_line(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "both", tmp_path, dirs_exist_ok=True)
    workspace = find_files([tmp_path])
    first = validate(workspace)[0]
    assert render(first, workspace.text(first.file), "flows/bad_command.yaml") == [
        'flows/bad_command.yaml:4:3: error: unknown command "tapOnn"; did you mean tapOn?',
        "    4 | - tapOnn: Settings # refused: line 4, column 3",
        "      |   ^",
    ]


def marked(text: str, line: int, column: int) -> tuple[str, str]:
    """The line that is shown, and what is above the mark in it, counted in characters."""
    head, shown, mark = render(Problem("a.yaml", line, column, "wrong"), text)
    assert head == f"a.yaml:{line}:{column}: error: wrong"
    return shown[8:], mark[8:]


@pytest.mark.parametrize(
    ("text", "shown", "mark"),
    [
        ("- a: b", "- a: b", "     ^"),
        ("-\ta: b", "-    a: b", "        ^"),
        ("世界: b", "世界: b", "       ^"),
        ("e\u0301é: bb", "e\u0301é: bb", "    ^"),
        ("a\x1b[1m: b", "a\N{REPLACEMENT CHARACTER}[1m: b", "     ^"),
        ("ab", "ab", "  ^"),
    ],
)
def test_mark_stands_under_the_column(text: str, shown: str, mark: str) -> None:
    assert marked(f"first\n{text}\nlast", 2, 6) == (shown, mark)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\x85", "\u2028"])
def test_lines_are_those_of_yaml(end: str, tmp_path: Path) -> None:
    text = end.join(["appId: a", "---", "- launchApp", "- tapOnn: Go", ""])
    workspace = find_files([write(tmp_path, {"a.yaml": text})])
    (problem,) = validate(workspace)
    assert problem.line is not None
    assert problem.column is not None
    assert marked(workspace.text("a.yaml") or "", problem.line, problem.column) == ("- tapOnn: Go", "  ^")


@pytest.mark.parametrize(
    ("column", "before", "after"), [(1, "", "…"), (150, "…", "…"), (300, "…", "")], ids=["first", "middle", "last"]
)
def test_long_line_is_cut_around_the_column(column: int, before: str, after: str) -> None:
    line = "x" * (column - 1) + "!" + "x" * (300 - column)
    shown, mark = marked(line, 1, column)
    assert len(shown) == 100 + len(before + after)
    assert (shown.startswith("…"), shown.endswith("…")) == (bool(before), bool(after))
    assert shown[mark.index("^")] == "!"


@pytest.mark.parametrize(
    ("problem", "text", "shown"),
    [
        (Problem("a.yaml", None, None, "wrong", NOTICE), FLOW, "a.yaml: notice: wrong"),
        (Problem("a.yaml", 9, 1, "wrong"), FLOW, "a.yaml:9:1: error: wrong"),
        (Problem("a.yaml", 1, 1, "wrong"), None, "a.yaml:1:1: error: wrong"),
        (Problem("\x1b.yaml", 1, 1, "\x1b[1m"), None, "�.yaml:1:1: error: �[1m"),
    ],
)
def test_problem_without_a_line_is_one_line(problem: Problem, text: str | None, shown: str) -> None:
    assert render(problem, text) == [shown]


def test_picture_of_a_flow_is_validated(tmp_path: Path) -> None:
    assert validate(find_files([write(tmp_path, {"a.yaml": "- addMedia: [p.png]", "p.png": PNG})])) == []

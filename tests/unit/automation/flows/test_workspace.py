"""Folders of flows: which files are flows, under which names and tags, and what is said of the others."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from mobiletest_automation.flows.workspace import (
    InvalidWorkspace,
    Workspace,
    WorkspaceFlow,
    find_flows,
    find_root,
    repeated_names,
)

FOLDERS = Path(__file__).parent / "workspaces"
FLOW = "appId: com.example.notes\n---\n- launchApp\n"


def read_folder(name: str) -> Workspace:
    texts, others = {}, {}
    for file in (FOLDERS / name).rglob("*"):
        path = file.relative_to(FOLDERS / name).as_posix()
        if file.suffix == ".png" or file.suffix == ".jpg":
            others[path] = file.read_bytes()
        elif file.is_file():
            texts[path] = file.read_text()
    return Workspace(texts, others)


def by_path(workspace: Workspace) -> dict[str, WorkspaceFlow]:
    return {flow.path: flow for flow in workspace.flows()}


def select(config: str, *paths: str) -> list[str]:
    """The flows of a folder with these files."""
    return list(by_path(Workspace({"config.yaml": config, **dict.fromkeys(paths, FLOW)})))


def refusal(texts: Mapping[str, str]) -> str:
    with pytest.raises(InvalidWorkspace) as refused:
        Workspace(texts)
    remark = refused.value.remark
    return f"{remark.file} {remark.line}:{remark.column} {remark.message}"


def test_globs_and_tags_select_the_flows_of_notes() -> None:
    workspace = read_folder("notes")
    flows = by_path(workspace)
    assert list(flows) == [
        *("tests/account/sign_up.yaml", "tests/account/wrong_password.yaml", "tests/photos/attach.yaml"),
        *("tests/scroll_far.yml", "tests/write_note.yaml"),
    ]
    assert flows["tests/account/sign_up.yaml"].name == "Create an account"
    assert flows["tests/account/sign_up.yaml"].tags == ("ready", "smoke")
    assert flows["tests/account/wrong_password.yaml"].name == "wrong_password"
    assert not any(flow.problems for flow in flows.values())
    assert not workspace.config.continue_on_failure
    assert not workspace.config.notices


def test_files_beside_and_above_a_flow_are_found() -> None:
    flows = by_path(read_folder("notes"))
    sign_up = flows["tests/account/sign_up.yaml"]
    assert "Log in" in str(sign_up.steps)
    assert "clearState" in str(sign_up.steps)


def test_order_names_paths() -> None:
    names = [("tests/account/sign_up.yaml", "Create an account"), ("tests/write_note.yaml", "write_note")]
    assert read_folder("notes").order(names) == (("tests/account/sign_up.yaml", "tests/write_note.yaml"), ())


def test_other_ending_of_the_configuration() -> None:
    workspace = read_folder("web-shop")
    flows = by_path(workspace)
    assert {path: flow.name for path, flow in flows.items() if path.endswith("search.yaml")} == {
        "flows/search.yaml": "search"
    }
    assert list(flows) == ["flows/api.yaml", "flows/buy.yaml", "flows/search.yaml"]
    assert not any(flow.problems for flow in flows.values())
    assert [notice.message.split('"')[1] for notice in workspace.config.notices] == ["customTeam", "appId", "env"]
    assert {notice.file for notice in workspace.config.notices} == {"config.yml"}


def test_wrong_flows_do_not_stop_the_others() -> None:
    workspace = read_folder("both")
    flows = by_path(workspace)
    refused = {
        p: (f.problems[0].file, f.problems[0].line, f.problems[0].column) for p, f in flows.items() if f.problems
    }
    assert refused == {
        "bad_command.yaml": ("bad_command.yaml", 4, 3),
        "bad_path.yaml": ("bad_path.yaml", 4, 12),
        "loop_a.yaml": ("loop_b.yaml", 3, 12),
        "loop_b.yaml": ("loop_a.yaml", 4, 12),
    }
    assert set(flows) - set(refused) == {"first.yaml", "no_header.yaml", "second.yaml"}
    assert flows["bad_path.yaml"].problems[0].message.endswith("is outside the folder of the workspace")
    assert flows["second.yaml"].name == "Second"
    assert [(notice.line, notice.column) for notice in workspace.config.notices] == [(3, 1)]


def test_unknown_keys_of_flows_and_their_parts_are_noticed() -> None:
    texts = {"a.yaml": "jsEngine: graaljs\n---\n- runFlow: p/b.yaml", "p/b.yaml": "owner: me\n---\n- back"}
    (flow,) = Workspace({"config.yaml": "flows: a.yaml", **texts}).flows()
    assert not flow.problems
    assert {(notice.file, notice.line) for notice in flow.notices} == {("a.yaml", 1), ("p/b.yaml", 1)}


FLOWS = {f"{name}.yaml": "appId: com.kiosk.bakery\n---\n- launchApp\n" for name in ("bake", "sell", "wash")}


@pytest.mark.parametrize(
    ("order", "expected", "notices"),
    [
        ("[sell, bake]", ("sell.yaml", "bake.yaml"), []),
        ("[bake, sell, bake]", ("bake.yaml", "sell.yaml"), []),
        ("[bake, knead]", ("bake.yaml",), ['no selected flow has the name "knead": the order ends here']),
        ("[knead, knot]", (), ['no selected flow has the name "knead": the order ends here']),
        (
            "[bake, knead, sell]",
            ("bake.yaml",),
            ['no selected flow has the name "knead": the order ends here, and those after it run in any order'],
        ),
    ],
)
def test_a_gap_in_the_order_ends_it(order: str, expected: tuple[str, ...], notices: list[str]) -> None:
    """As Maestro 2.10 plans these flows."""
    workspace = Workspace({"config.yaml": f"executionOrder: {{flowsOrder: {order}}}\n", **FLOWS})
    planned = find_flows(workspace)
    assert (planned.order, [notice.message for notice in planned.notices]) == (expected, notices)


def test_an_order_that_begins_with_a_gap_is_refused() -> None:
    config = "executionOrder:\n  flowsOrder: [knead, bake, sell]\n"
    with pytest.raises(InvalidWorkspace) as refused:
        find_flows(Workspace({"config.yaml": config, **FLOWS}))
    remark = refused.value.remark
    assert (remark.file, remark.line, remark.column) == ("config.yaml", 2, 16)
    assert remark.message == 'the order begins with "knead", which no selected flow has as its name'
    broken = find_flows(Workspace({"config.yaml": config, **FLOWS, "knead.yaml": "appId: a\n---\n- lunchApp\n"}))
    assert [flow.path for flow in broken.flows if flow.problems] == ["knead.yaml"]
    (notice,) = broken.notices
    assert notice.message.startswith('the flow "knead" has errors: the order ends here')


def test_order_ends_at_a_name_that_no_flow_has() -> None:
    workspace = read_folder("both")
    order, (notice,) = workspace.order([("first.yaml", "first"), ("second.yaml", "Second")])
    assert order == ("first.yaml",)
    assert (notice.file, notice.line) == ("config.yaml", 6)
    assert notice.message.endswith("did you mean Second?")


@pytest.mark.parametrize(
    "command",
    [
        *("runFlow: {}", "runFlow: '{}'", "runFlow: {{file: {}, env: {{A: b}}}}", "runFlow: {{'file': '{}'}}"),
        *("runFlow:\n    file: {} # why", "retry:\n    file: {}"),
    ],
)
@pytest.mark.parametrize("name", ["../parts/p 1.yaml", "./../x/../parts/p 1.yaml"])
def test_files_are_found_however_they_are_written(command: str, name: str) -> None:
    """Also back into the folder of the flow, which the names do not show."""
    part = "- runFlow: ../tests/deep/other.yaml\n- runFlow: p2.yaml\n"
    texts = {
        "config.yaml": "flows: tests/*",
        "tests/a.yaml": f"- {command.format(name)}\n",
        "tests/deep/other.yaml": "- tapOn: Other\n",
        "parts/p 1.yaml": part,
        "parts/p2.yaml": "- tapOn: Second\n",
    }
    flow = by_path(Workspace(texts))["tests/a.yaml"]
    assert not flow.problems
    assert "Other" in str(flow.steps)
    assert "Second" in str(flow.steps)


def test_large_workspace_counts_only_what_a_flow_runs() -> None:
    parts = {f"parts/{number}.yaml": f"# {'x' * 9000}\n- back\n" for number in range(100)}
    (flow,) = Workspace({"a.yaml": "- runFlow: parts/7.yaml", **parts}).flows()
    assert not flow.problems


@pytest.mark.parametrize(
    ("globs", "expected"),
    [
        ("'*'", ["a.yaml"]),
        ("'**'", ["a.yaml", "b/b.yml", "b/c/d.yaml"]),
        ("'b/*'", ["b/b.yml"]),
        ("b/**", ["b/b.yml", "b/c/d.yaml"]),
        ("['**', '!b/c/**']", ["a.yaml", "b/b.yml"]),
        ("['!b/c/**', '**']", ["a.yaml", "b/b.yml"]),
        ("'{a,b/b}.{yaml,yml}'", ["a.yaml", "b/b.yml"]),
        ("'[!b].yaml'", ["a.yaml"]),
        ("'[a-c].yaml'", ["a.yaml"]),
        ("'**/?.y?ml'", ["b/c/d.yaml"]),
        ("'./a.yaml'", ["a.yaml"]),
        ("a.+", []),
    ],
)
def test_globs_are_those_of_maestro(globs: str, expected: list[str]) -> None:
    paths = ("a.yaml", "b/b.yml", "b/c/d.yaml", "b/config.yaml", "b/e.yaml.bak", "b/f.txt")
    if expected:
        assert select(f"flows: {globs}", *paths) == expected
    else:
        assert "no file fits" in refusal({"config.yaml": f"flows: {globs}", **dict.fromkeys(paths, FLOW)})


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("flows: ['!a/**']", "config.yaml 1:8 every entry excludes files"),
        ("flows: 'a[b'", 'config.yaml 1:8 "a[b" is not a valid path pattern: the ] of a [ is missing'),
        ("flows: 'a{b'", 'config.yaml 1:8 "a{b" is not a valid path pattern: the } of a { is missing'),
        ("flows: 'a\\'", 'config.yaml 1:8 "a\\" is not a valid path pattern: a character is missing'),
        ("flows: {a: b}", "config.yaml 1:8 expected text, not a mapping"),
        ("flows: nothing/*", "config.yaml 1:8 no file fits"),
        ("executionOrder:\n  flowOrder: [a]", 'config.yaml 2:3 unknown field "flowOrder"; did you mean flowsOrder?'),
        ("executionOrder: {continueOnFailure: perhaps}", "config.yaml 1:37 expected true or false"),
        ("- a", "config.yaml 1:1 expected a mapping"),
        ("a: [", "config.yaml 1:4 the [ that begins here is not closed by ]"),
    ],
)
def test_wrong_configuration_is_refused_with_its_place(config: str, message: str) -> None:
    assert refusal({"config.yaml": config, "a.yaml": FLOW}).startswith(message)


def test_folder_without_flows_is_refused() -> None:
    assert "no file of the folder ends with .yaml or .yml" in refusal({"README.md": "x"})
    assert "no flow lies in the top folder, but tests/a.yaml" in refusal({"README.md": "x", "tests/a.yaml": FLOW})


def test_empty_values_of_the_configuration_are_none() -> None:
    assert select("flows:\nincludeTags:\nexecutionOrder:\n", "a.yaml") == ["a.yaml"]


def test_tags_of_a_flow_with_problems_still_exclude_it() -> None:
    wrong = "tags: [wip]\n---\n- tapp: x\n"
    assert not by_path(Workspace({"config.yaml": "excludeTags: wip", "a.yaml": wrong}))


@pytest.mark.parametrize(
    "wrong",
    [
        "appId: x\ntags: smoke\n---\n- back\n",
        "appId: x\ntags: [smoke]\n---\n- tapOn:\n\tid: x\n",
        "appId: x\ntags: [smoke]\n- back\n",
        "appId: x\ntags: [smoke]\n",
        "tags: [smoke]\n---\n- tapp: x\n",
        "- tags: [smoke]\n- tapp: x\n",
    ],
)
def test_flow_with_problems_is_not_left_out_because_its_tags_cannot_be_read(wrong: str) -> None:
    """Otherwise the other flows pass, and nobody is told that it did not run."""
    texts = {"config.yaml": "includeTags: smoke", "a.yaml": wrong, "b.yaml": "appId: x\ntags: [smoke]\n---\n- back\n"}
    flows = by_path(Workspace(texts))
    assert flows["a.yaml"].problems
    assert not flows["b.yaml"].problems


def test_names_in_the_order_are_those_of_flows_without_blanks_around() -> None:
    texts = {"config.yaml": "executionOrder: {flowsOrder: [' Log in ', b]}", "b.yaml": FLOW}
    flows = find_flows(Workspace({**texts, "a.yaml": "appId: x\nname: ' Log in '\n---\n- back\n"}))
    assert (flows.order, flows.notices) == (("a.yaml", "b.yaml"), ())


def test_order_of_named_flows_is_that_of_those_among_them() -> None:
    texts = {"config.yaml": "executionOrder: {flowsOrder: [z, b, a]}", "a.yaml": FLOW, "b.yaml": FLOW, "z.yaml": FLOW}
    flows = find_flows(Workspace(texts, named=["a.yaml", "b.yaml"]))
    assert (flows.order, flows.notices) == (("b.yaml", "a.yaml"), ())


def test_a_flow_that_is_not_text_is_refused() -> None:
    (flow,) = Workspace({"b.txt": ""}, {"a.yaml": b"\xff"}).flows()
    assert flow.problems[0].message == "this is not a UTF-8 text of at most 1 MiB"


@pytest.mark.parametrize(
    ("paths", "root"),
    [
        (["config.yaml", "a/b.yaml"], ""),
        (["notes/config.yaml", "notes/tests/a.yaml"], "notes/"),
        (["x/y/config.yml", "x/y/a.yaml"], "x/y/"),
        (["x/y/a.yaml", "x/y/z/b.yaml"], "x/y/"),
        (["a.yaml"], ""),
        (["a/a.yaml", "b/b.yaml"], ""),
        ([], ""),
    ],
)
def test_root_is_below_the_folders_around_all_files(paths: list[str], root: str) -> None:
    assert find_root(paths) == root


def test_second_flow_of_a_name_is_noticed() -> None:
    (notice,) = repeated_names([("a.yaml", "A"), ("b.yaml", "B"), ("c.yaml", "A")])
    assert (notice.file, notice.message.partition(":")[0]) == ("c.yaml", 'a.yaml has the same name "A"')

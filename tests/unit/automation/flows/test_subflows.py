"""The files that a flow runs are inlined, and their problems are located in them."""

import pytest

from mobiletest_automation.flows.loader import load_flow, parse_flow
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.flows.script_commands import RunScript
from mobiletest_automation.flows.steps import RunFlow
from tests.fakes.flows import stored_steps

LOG_IN = """appId: com.example.shop
env: {EMAIL: ada@example.com, PASSWORD: secret}
onFlowStart: [launchApp]
---
- inputText: ${EMAIL}
- runFlow: ../shared/accept.yaml
"""
ACCEPT = "- tapOn: {text: Accept, optional: true}\n"
FILES = {"sub/log-in.yaml": LOG_IN, "./shared/accept.yaml": ACCEPT}


def test_commands_of_other_files_are_inlined() -> None:
    steps = stored_steps("appId: a\n---\n- runFlow: sub/log-in.yaml\n- back\n", FILES)
    accept = {"label": "shared/accept.yaml", "commands": [{"tapOn": {"text": "Accept", "optional": True}}]}
    inner = [{"launchApp": {"appId": "com.example.shop"}}, {"inputText": "${EMAIL}"}, {"runFlow": accept}]
    env = {"EMAIL": "ada@example.com", "PASSWORD": "secret"}
    assert steps == [{"appId": "a"}, {"runFlow": {"label": "sub/log-in.yaml", "env": env, "commands": inner}}, "back"]
    assert [step.title for step in parse_flow(steps).steps] == ["sub/log-in.yaml", "back"]


def test_variables_of_a_file_hide_those_given_to_it() -> None:
    """As in Maestro; ${NAME || "..."} in the file is how it takes what is given."""
    flow = "- runFlow: {file: sub/log-in.yaml, label: In, when: {visible: x}, env: {EMAIL: grace@example.com, A: b}}"
    (step,) = stored_steps(flow, FILES)
    assert isinstance(step, dict)
    run = step["runFlow"]
    assert isinstance(run, dict)
    assert (run["label"], run["when"]) == ("In", {"visible": "x"})
    assert run["env"] == {"EMAIL": "ada@example.com", "A": "b", "PASSWORD": "secret"}


@pytest.mark.parametrize(
    "command", ["runFlow: sub.yaml", "retry: {file: sub.yaml}", "runFlow: {file: sub.yaml, env: {A: b}}"]
)
def test_a_variable_without_a_value_is_located_in_its_file(command: str) -> None:
    files = {"sub.yaml": "appId: a\nenv:\n  SHOP: Mill\n  CUSTOMER:\n---\n- back\n"}
    (problem,) = load_flow(f"- {command}\n", files).problems
    assert (problem.file, problem.line, problem.column) == ("sub.yaml", 4, 3)
    assert problem.message == 'the variable CUSTOMER has no value: write CUSTOMER: "" for an empty text'


@pytest.mark.parametrize("around", ["", "env: {NAME: Bob}\n---\n"])
def test_variables_of_a_file_can_use_those_given_to_it(around: str) -> None:
    files = {"sub.yaml": 'env: {NAME: "${NAME || \'Nobody\'}", HELLO: "Hello ${NAME}"}\n---\n- back\n'}
    flow = parse_flow(stored_steps(f"{around}- runFlow: {{file: sub.yaml, env: {{NAME: Ada}}}}\n", files))
    outer = flow.steps[0].command
    assert isinstance(outer, RunFlow)
    inner = outer.commands[0].command
    assert isinstance(inner, RunFlow)
    assert (outer.env, inner.env) == ((("NAME", "Ada"),), (("NAME", "${NAME || 'Nobody'}"), ("HELLO", "Hello ${NAME}")))
    assert [step.name for step in inner.commands] == ["back"]


TILL = """appId: com.kiosk.till
onFlowStart: [stopApp]
onFlowComplete: [{killApp: com.kiosk.bakery}, clearState]
---
- clearState: {label: Clean}
- repeat: {times: 2, commands: [{launchApp: {stopApp: false}}]}
- setPermissions: {url: "https://kiosk.example", permissions: {camera: deny}}
- setPermissions: {permissions: {camera: deny}}
- runFlow: inner.yaml
- tapOn: Baguette
"""
IN_TILL: list[object] = [
    {"stopApp": {"appId": "com.kiosk.till"}},
    {"clearState": {"label": "Clean", "appId": "com.kiosk.till"}},
    {"repeat": {"times": 2, "commands": [{"launchApp": {"stopApp": False, "appId": "com.kiosk.till"}}]}},
    {"setPermissions": {"url": "https://kiosk.example", "permissions": {"camera": "deny"}}},
    {"setPermissions": {"permissions": {"camera": "deny"}, "appId": "com.kiosk.till"}},
    {"runFlow": {"label": "till/inner.yaml", "commands": [{"stopApp": {"appId": "com.kiosk.till"}}]}},
    {"tapOn": "Baguette"},
]


@pytest.mark.parametrize("command", ["runFlow: till/open.yaml", "retry: {file: till/open.yaml}"])
def test_commands_of_a_file_act_on_the_app_of_its_header(command: str) -> None:
    files = {"till/open.yaml": TILL, "till/inner.yaml": "- stopApp\n"}
    (_, launch, step) = stored_steps(f"appId: com.kiosk.bakery\n---\n- launchApp\n- {command}\n", files)
    assert launch == "launchApp"
    assert isinstance(step, dict)
    run = step.get("runFlow") or step["retry"]["commands"][0]["runFlow"]  # type: ignore[index, call-overload]
    assert isinstance(run, dict)
    assert run["commands"] == IN_TILL
    assert run["onFlowComplete"] == [{"killApp": "com.kiosk.bakery"}, {"clearState": {"appId": "com.kiosk.till"}}]


@pytest.mark.parametrize(
    ("own", "header", "commands"),
    [
        ("appId: com.a", "appId: com.a", ["launchApp"]),
        ("appId: ${APP}", "appId: ${APP}", ["launchApp"]),
        ("appId: {android: com.a, ios: com.b}", "appId: com.b", ["launchApp"]),
        ("appId: {android: com.a, ios: com.b}", "appId: {android: com.a, ios: com.b}", ["launchApp"]),
        ("name: without an app", "appId: com.b", ["launchApp"]),
        ("appId: com.a", "appId: ''", ["launchApp"]),
        ("appId: com.a", "appId: ${TILL}", [{"launchApp": {"appId": "${TILL}"}}]),
        (
            "url: https://a.example",
            "{url: 'https://b.example', appId: com.a}",
            [{"launchApp": {"appId": "https://b.example"}}],
        ),
    ],
)
def test_the_app_of_a_file_is_named_where_it_is_another_one(own: str, header: str, commands: list[object]) -> None:
    steps = stored_steps(f"{own}\ntags: [a]\n---\n- runFlow: sub.yaml\n", {"sub.yaml": f"{header}\n---\n- launchApp\n"})
    assert steps[-1] == {"runFlow": {"label": "sub.yaml", "commands": commands}}


def test_scripts_are_embedded() -> None:
    files = {
        "sub/log-in.yaml": "- runScript: {file: ../scripts/log-in.js, env: {A: '${B}'}}\n- runScript: local.js\n",
        "scripts/log-in.js": "output.user = `${A}`",
        "sub/local.js": "1",
        "top.js": "2",
    }
    flow = "- runFlow: sub/log-in.yaml\n- runScript: top.js\n- evalScript: ${output.a = {}}\n"
    steps = parse_flow(stored_steps(flow, files)).steps
    assert isinstance(steps[0].command, RunFlow)
    assert [step.command for step in (*steps[0].command.commands, steps[1])] == [
        RunScript("output.user = `${A}`", "scripts/log-in.js", env=(("A", "${B}"),)),
        RunScript("1", "sub/local.js"),
        RunScript("2", "top.js"),
    ]
    assert (steps[1].title, steps[2].title) == ("runScript: top.js", "evalScript: ${output.a = {}}")


def test_files_are_inlined_in_hooks_retries_and_inner_steps() -> None:
    flow = """onFlowStart:
  - runFlow: shared/accept.yaml
---
- repeat: {times: 2, commands: [{runFlow: {file: shared/accept.yaml}}]}
- retry: {maxRetries: 3, file: sub/log-in.yaml}
"""
    parsed = parse_flow(stored_steps(flow, FILES))
    assert [step.title for step in parsed.on_start] == ["shared/accept.yaml"]
    assert [step.name for step in parsed.steps] == ["repeat", "retry"]


@pytest.mark.parametrize(
    ("flow", "files", "place", "message"),
    [
        ("- runFlow: a.yaml", {}, (1, 12, "flow[0].runFlow"), "no other file was either"),
        ("- runScript: a.js", {}, (1, 14, "flow[0].runScript"), "no other file was either"),
        ("- runScript: a.js", {"b.js": ""}, (1, 14, "flow[0].runScript"), "the file a.js was not sent along"),
        ("- runScript: {file: '${A}.js'}", {"b.js": ""}, (1, 21, "flow[0].runScript.file"), "cannot have variables"),
        (
            "- runFlow: a.yml",
            {"a.yaml": ACCEPT},
            (1, 12, "flow[0].runFlow"),
            "was not sent along; did you mean a.yaml?",
        ),
        ("- runFlow: {file: ../x.yaml}", {"a.yaml": ACCEPT}, (1, 19, "flow[0].runFlow.file"), "../x.yaml was not sent"),
        ("- runFlow: a.yaml", {"a.yaml": "- back\n- tapp: x"}, (2, 3, "a.yaml[1]"), "did you mean tapOn?"),
        ("- runFlow: a.yaml", {"a.yaml": "- ["}, (2, 1, "a.yaml"), "not valid YAML"),
        ("- runFlow: a.yaml", {"a.yaml": "appId: x"}, (1, 1, "a.yaml"), "the commands are missing"),
        ("- runFlow: a.yaml", {"a.yaml": "- runFlow: a.yaml"}, (1, 12, "a.yaml[0].runFlow"), "a.yaml runs itself"),
        (
            "- runFlow: a.yaml",
            {"a.yaml": "onFlowComplete: [bakc]\n---\n- back"},
            (1, 18, "a.yaml"),
            "did you mean back",
        ),
        ("- runFlow: ${A}.yaml", {"a.yaml": ACCEPT}, (1, 12, "flow[0].runFlow"), "cannot have variables"),
        ("- runFlow: {file: a.yaml, commands: [back]}", {"a.yaml": ACCEPT}, (1, 13, "flow[0].runFlow"), "either file"),
    ],
)
def test_problems_are_located_in_their_file(
    flow: str, files: dict[str, str], place: tuple[int, int, str], message: str
) -> None:
    with pytest.raises(DocumentError) as error:
        stored_steps(flow, files)
    assert message in error.value.message
    assert (error.value.line, error.value.column) == place[:2]
    assert error.value.path.startswith(place[2])
    assert load_flow(flow, files).problems


def test_a_large_file_that_runs_many_times_is_refused() -> None:
    """The result must fit into one document of the database."""
    files = {"f.yaml": f'env: {{A: "{"x" * 9_000}"}}\n---\n- back\n'}
    (fault,) = load_flow("- runFlow: f.yaml\n" * 90, files).problems
    assert "more than 524288 characters in all" in fault.message


def test_the_values_of_a_file_count_each_time_that_it_is_run() -> None:
    """Before its steps are read: the many values in this label would be read a hundred times."""
    label = ", ".join(["1"] * 15_000)
    problems = load_flow("- runFlow: f\n" * 100, {"f": f"- tapOn: {{text: x, label: [{label}]}}\n"}).problems
    assert [problem.message for problem in problems] == ["more than 40000 values in the files that are run"]
    assert problems[0].line == 3


def test_files_that_run_each_other_are_limited() -> None:
    twice = {f"{n}.yaml": f"- runFlow: {n + 1}.yaml\n" * 2 for n in range(7)} | {"7.yaml": "- back"}
    with pytest.raises(DocumentError, match="more than 100 files are run"):
        stored_steps("- runFlow: 0.yaml", twice)
    deep = {f"{n}.yaml": f"- runFlow: {n + 1}.yaml" for n in range(20)}
    with pytest.raises(DocumentError, match="files deep"):
        stored_steps("- runFlow: 0.yaml", deep)
    long = {"a.yaml": "- back\n" * 400}
    with pytest.raises(DocumentError, match="at most 1000 steps"):
        stored_steps("- runFlow: a.yaml\n" * 3, long)
    large = dict.fromkeys("abc", "- back\n#" + "#" * 250000)
    with pytest.raises(DocumentError, match="longer than 524288 characters together"):
        stored_steps("- runFlow: a\n- runFlow: b\n- runFlow: c", large)
    assert len(stored_steps("- runFlow: a\n- runFlow: b\n- runFlow: a", large)) == 3
    wide = {"a.yaml": "".join(f"- tapOn: {{text: a, id: b, label: c{n}}}\n" for n in range(400))}
    with pytest.raises(DocumentError, match="steps"):
        stored_steps("- runFlow: a.yaml\n" * 99, wide)


def messages(flow: str, files: dict[str, str], path: str = "") -> list[str]:
    return [str(problem) for problem in load_flow(flow, files, path, path=path).problems]


@pytest.mark.parametrize(
    ("path", "file", "files"),
    [
        ("shared/main.yaml", "../shared/x.yaml", {"shared/x.yaml": "- back"}),
        ("tests/core/t.yaml", "../../shared/a", {"shared/a": "- runFlow: ../tests/b", "tests/b": "- back"}),
        ("main.yaml", "./sub/../x.yaml", {"x.yaml": "- back", "main.yaml": "- runFlow: x.yaml"}),
        ("", "../shared/x.yaml", {"shared/x.yaml": "- back"}),
        ("", "../shared/x.yaml", {"x.yaml": "- back"}),
        ("", "../common/a.yaml", {"../common/a.yaml": "- runFlow: ../tests/b.yaml", "b.yaml": "- back"}),
    ],
)  # fmt: skip
def test_paths_lead_through_the_folders_of_the_workspace(path: str, file: str, files: dict[str, str]) -> None:
    assert messages(f"- runFlow: {file}", files, path) == []


def test_only_one_folder_is_taken_for_that_of_a_flow_without_a_path() -> None:
    """Otherwise a forgotten file of another folder would be replaced by one of the same name."""
    files = {"x.yaml": "- back", "y.yaml": "- back"}
    (problem,) = messages("- runFlow: ../shared/x.yaml\n- runFlow: ../common/y.yaml", files)
    assert "../common/y.yaml was not sent along" in problem


def test_a_path_above_the_workspace_is_refused() -> None:
    (problem,) = messages("- runFlow: ../../x.yaml", {"x.yaml": "- back"}, "tests/main.yaml")
    assert problem.startswith("line 1, column 12 (tests/main.yaml[0].runFlow): ../x.yaml is outside the folder")


def test_a_loop_through_the_flow_itself_is_found() -> None:
    files = {"parts/b.yaml": "- runFlow: ../a.yaml", "a.yaml": "- runFlow: parts/b.yaml"}
    (problem,) = messages("- runFlow: parts/b.yaml", files, "a.yaml")
    assert problem == "line 1, column 12 (parts/b.yaml[0].runFlow): a.yaml runs itself"


def test_all_problems_of_a_flow_and_its_files_are_reported_once() -> None:
    steps = "- runFlow: gone.yaml\n- tapOnn: x\n- retry: {file: lost.yaml}\n- runFlow: a.yaml\n- runFlow: a.yaml"
    flow = "env: [x]\n---\n" + steps
    problems = load_flow(flow, {"a.yaml": "- runFlow: far.yaml\n- bakc"}).problems
    places = {(problem.file, problem.line, problem.column) for problem in problems}
    assert len(problems) == len(places) == 6
    assert {
        ("flow", 1, 6),
        ("flow", 3, 12),
        ("flow", 4, 3),
        ("flow", 5, 17),
        ("a.yaml", 1, 12),
        ("a.yaml", 2, 3),
    } == places


def test_hooks_of_a_configuration_in_the_list_run_files_too() -> None:
    flow = "- appId: a.b\n  onFlowStart: [{runFlow: a.yaml}]\n- back"
    assert [step.title for step in parse_flow(stored_steps(flow, {"a.yaml": "- back"})).on_start] == ["a.yaml"]


def test_unknown_keys_of_configurations_are_kept_with_a_notice() -> None:
    flow = "appId: a.b\nowner: {team: x}\nretry: 2\n---\n- runFlow: a.yaml\n- runFlow: a.yaml\n"
    loaded = load_flow(flow, {"a.yaml": "onFlowStrat: [x]\n---\n- inputText: ${A}"})
    assert [(notice.file, notice.line, notice.column) for notice in loaded.notices] == [
        ("a.yaml", 1, 1), ("flow", 2, 1), ("flow", 3, 1)
    ]  # fmt: skip
    assert str(loaded.notices[0]) == (
        'line 1, column 1 (a.yaml): "onFlowStrat" has no effect here; did you mean onFlowStart?'
    )
    assert loaded.steps[0] == {"appId": "a.b", "owner": {"team": "x"}}
    assert load_flow(loaded.steps).require().app_ids == {"a.b"}
    assert load_flow("owner: x\n---\n- back").steps == ["back"]


def test_many_unknown_keys_are_counted() -> None:
    notices = load_flow("".join(f"key{n}: x\n" for n in range(1000)) + "---\n- back").notices
    assert len(notices) == 21
    assert "980 more keys" in notices[-1].message


def test_values_of_variables_that_are_named_like_secrets_are_noticed() -> None:
    """With file, line and column, but without the value; not what comes from outside of the flow."""
    flow = "env:\n  USER: ada\n  PASSWORD: hunter2\n  API_TOKEN: ${TOKEN}\n  PIN:\n---\n- runFlow: a.yaml"
    notices = load_flow(flow, {"a.yaml": "env: {api_key: 0042}\n---\n- back"}).notices
    assert [(notice.file, notice.line, notice.column) for notice in notices] == [("a.yaml", 1, 7), ("flow", 3, 3)]
    assert str(notices[1]).startswith('line 3, column 3 (flow.env): "PASSWORD" has a secret\'s name, ')
    assert "hunter2" not in str(notices)

"""`mobiletest run --local` on the simulated device: verdicts, exit codes, and everything that is made of them."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mobiletest_cli.commands.run import LocalOptions, WaitLimits
from mobiletest_cli.errors import FAILED, INVALID_FILE, NO_VERDICT, NOT_FOUND, OK, TIMEOUT, USAGE
from mobiletest_cli.local_run.command import LocalTestRun
from mobiletest_cli.output import Output
from mobiletest_cli.results.files import Destinations
from mobiletest_cli.selection import Selection
from tests.unit.cli.local_shell import FAILING, PASSING, LocalShell

MODEL = """app_model: 1
app: {id: com.example.notes, name: Notes}
start: {go: home}
state: {opened: 0}
screens:
  home:
    elements:
      - {type: text, text: My notes}
"""


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LocalShell:
    return LocalShell(tmp_path, capsys)


def test_a_passing_flow_passes_and_says_what_ran(shell: LocalShell) -> None:
    shell.write(a=PASSING)
    ended = shell.run()
    assert ended.code == OK, ended.err
    assert "1 passed of 1 run" in ended.out
    assert "simulated-android (simulated)" in ended.out
    assert "built-in model instead of the build" in ended.out


def test_a_failing_flow_fails_and_names_its_step_and_its_evidence(shell: LocalShell) -> None:
    shell.write(a=FAILING)
    ended = shell.run()
    assert ended.code == FAILED
    assert ".maestro/a.yaml:5:3: step_timeout" in ended.out
    files = [
        line.split(": ", 1)[1] for line in ended.out.splitlines() if line.strip().startswith(("screenshot:", "tree:"))
    ]
    assert len(files) == 2
    assert all(Path(file).is_file() for file in files)


def test_a_broken_flow_is_refused_and_nothing_runs(shell: LocalShell) -> None:
    shell.write(a=PASSING, b="appId: a\n---\n- tapon: Log in\n")
    ended = shell.run()
    assert (ended.code, ended.out) == (INVALID_FILE, "")
    assert '.maestro/b.yaml:3:3: error: unknown command "tapon"' in ended.err


def test_a_folder_runs_as_selected(shell: LocalShell) -> None:
    shell.write(a=PASSING, b=FAILING)
    both, smoke, none = shell.run("--json"), shell.run("--tag", "smoke", "--json"), shell.run("--tag", "other")
    assert {run["test_name"]: run["success"] for run in both.document["runs"]} == {
        "Log in": True,
        "Open the basket": False,
    }
    assert (both.code, both.document["exit_code"], both.err) == (FAILED, FAILED, "")
    assert [run["test_name"] for run in smoke.document["runs"]] == ["Log in"]
    assert none.code == NOT_FOUND


def test_an_order_ends_at_the_first_failure(shell: LocalShell) -> None:
    shell.write(a=PASSING, b=FAILING)
    order = "executionOrder: {continueOnFailure: false, flowsOrder: [Open the basket, Log in]}\n"
    (shell.folder / ".maestro" / "config.yaml").write_text(order)
    runs = shell.run("--json").document["runs"]
    assert [(run["test_name"], run["status"]) for run in runs] == [
        ("Open the basket", "completed"),
        ("Log in", "cancelled"),
    ]
    assert runs[1]["failure"]["category"] == "cancelled_after_failure"


def test_files_are_written(shell: LocalShell) -> None:
    shell.write(a=PASSING, b=FAILING)
    ended = shell.run("--junit", "out.xml", "--report", "out.md", "--artifacts", "kept")
    assert ended.code == FAILED
    cases = list(ElementTree.parse(shell.folder / "out.xml").getroot().iter("testcase"))  # noqa: S314 (our own output)
    assert [(case.get("name"), case.get("file"), case.find("failure") is not None) for case in cases] == [
        ("Log in", ".maestro/a.yaml", False),
        ("Open the basket", ".maestro/b.yaml", True),
    ]
    report = (shell.folder / "out.md").read_text()
    assert "Open the basket" in report
    assert "](<" not in report  # no links: there is no server
    [folder] = (shell.folder / "kept").iterdir()
    assert {path.suffix for path in folder.iterdir()} >= {".png", ".xml"}
    _, _, step = (folder / "report.html").read_text().split("<li id=")
    assert re.findall('src="data:image/(?:webp|png);base64,[^"]+" alt="(.+?)"', step) == [
        "Before, simulated step 2",
        "At the failure, simulated step 2",
    ]


def test_secrets_are_masked_everywhere(shell: LocalShell) -> None:
    shell.write(a="appId: a\n---\n- launchApp\n- inputText: ${TOKEN_VALUE}\n- assertVisible: ${TOKEN_VALUE} x\n")
    ended = shell.run("-s", "TOKEN_VALUE", "--junit", "out.xml", "--artifacts", "kept", TOKEN_VALUE="hush-4711")
    written = [path.read_bytes() for path in shell.folder.rglob("*") if path.is_file()]
    assert ended.code == FAILED
    assert "hush-4711" not in ended.out + ended.err
    assert not any(b"hush-4711" in content for content in written)


def test_a_secret_of_a_server_comes_from_the_environment(shell: LocalShell) -> None:
    shell.write(a=PASSING)
    (shell.folder / "mobiletest.yaml").write_text("env: {PASSWORD: {secret: staging}}\n")
    missing = shell.run()
    assert (missing.code, "export PASSWORD=" in missing.err) == (USAGE, True)
    assert shell.run(PASSWORD="x").code == OK


def test_an_app_model_is_the_app(shell: LocalShell) -> None:
    (shell.folder / "model.yaml").write_text(MODEL)
    shell.write(a="appId: com.example.notes\n---\n- launchApp\n- assertVisible: My notes\n")
    ended = shell.run("--app", "model.yaml")
    assert (ended.code, "a model instead of the app" in ended.out) == (OK, True), ended.err
    (shell.folder / "model.yaml").write_text("app_model: 1\napp: {}\n")
    assert shell.run("--app", "model.yaml").code == NO_VERDICT


def test_scripts_run(shell: LocalShell) -> None:
    shell.write(a="appId: a\n---\n- evalScript: ${output.sum = 40 + 2}\n- assertTrue: ${output.sum == 42}\n")
    assert shell.run().code == OK


def test_a_run_says_which_values_its_test_reads(shell: LocalShell) -> None:
    read = "- evalScript: ${output.x = LOCALE + API_TOKEN}\n"
    shell.write(a=f"{FAILING}{read}", b=PASSING)
    variables = ("-e", "LOCALE=de", "-e", "OTHER=1", "-s", "API_TOKEN")
    ended = shell.run(*variables, "--junit", "out.xml", API_TOKEN="hush-4711")
    document = shell.run(*variables, "--json", API_TOKEN="hush-4711").document
    variants = [run["variant"]["values"] if "variant" in run else None for run in document["runs"]]
    assert variants == [{"API_TOKEN": "***", "LOCALE": "de"}, None]
    assert "Open the basket (API_TOKEN=***, LOCALE=de)" in ended.out
    assert 'name="variant" value="API_TOKEN=***, LOCALE=de"' in (shell.folder / "out.xml").read_text()


@pytest.mark.parametrize(("fail_on_timeout", "code"), [(True, TIMEOUT), (False, OK)])
def test_the_time_limit_ends_the_run(
    shell: LocalShell, capsys: pytest.CaptureFixture[str], *, fail_on_timeout: bool, code: int
) -> None:
    shell.write(a=PASSING)
    limits = WaitLimits(timeout=0, fail_on_timeout=fail_on_timeout)
    test_run = LocalTestRun(Output(as_json=True), Destinations())
    ended = test_run.run(Selection(paths=[shell.folder / ".maestro"]), LocalOptions(device="simulated"), limits)
    [run] = json.loads(capsys.readouterr().out)["runs"]
    assert (ended, run["status"]) == (code, "cancelled")


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("MOBILETEST_LLM_STEP_LIMIT", "MOBILETEST_LLM_STEP_LIMIT=many: Input should be a valid integer"),
        ("MOBILETEST_LLM_TIMEOUT_SECONDS", "MOBILETEST_LLM_TIMEOUT_SECONDS=many: Input should be a valid number"),
    ],
)
def test_a_setting_of_models_that_cannot_be_used_is_refused_and_leaves_nothing(
    shell: LocalShell, monkeypatch: pytest.MonkeyPatch, variable: str, message: str
) -> None:
    temporary = shell.folder / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    shell.write(a=PASSING)
    ended = shell.run(**{"MOBILETEST_LLM_BASE_URL": "http://127.0.0.1:9", variable: "many"})
    assert (ended.code, message in ended.err, [*temporary.iterdir()]) == (USAGE, True, [])


def test_a_sentence_that_no_rule_parses_is_a_warning_without_a_model(shell: LocalShell) -> None:
    shell.write(a=f"{PASSING}- Make it nice\n")
    warning = 'warning: "Make it nice": the rules do not understand this sentence'
    assert warning in shell.run().err
    assert warning not in shell.run(MOBILETEST_LLM_BASE_URL="http://127.0.0.1:9").err


@pytest.mark.parametrize(
    "option",
    [
        ("--shard", "1/2"),
        ("--no-wait",),
        ("--build", "1"),
        ("--no-fail-on-cancellation",),
        ("--no-gate",),
        ("--ci-branch", "main"),
    ],
)
def test_what_needs_a_server_is_refused(shell: LocalShell, option: tuple[str, ...]) -> None:
    shell.write(a=PASSING)
    ended = shell.run(*option)
    assert (ended.code, f"{option[0]} needs a server" in ended.err) == (USAGE, True)

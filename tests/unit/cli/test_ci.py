"""CI attribution: what the variables of each CI system lead to, and that the gateway accepts it."""

import json
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mobiletest.executor.v1 import executions_pb2

from mobiletest_cli import ci
from mobiletest_cli.ci.attribution import repository_name
from services.executor.model.attribution import is_run_url
from services.gateway.decoding.requests import RequestDecoder, Source
from tests.unit.cli.ci_environments import CASES, GITHUB_PULL, GITLAB_MERGE, SHA, Case

DECODER = RequestDecoder(executions_pb2.StartTestRequest, [], takes_body=True)
BODY = json.dumps({"test_id": "00000000-0000-4000-8000-000000000000"}).encode()


def gateway_reads(headers: dict[str, str]) -> executions_pb2.StartTestRequest:
    """The message that the gateway decodes from the headers as httpx sends them."""
    sent = httpx.Headers(headers, encoding="utf-8").raw
    received = {name.decode(): value.decode() for name, value in sent}
    decoded = DECODER.decode(Source(headers=received, body=BODY), strict=True)
    assert isinstance(decoded.message, executions_pb2.StartTestRequest)
    return decoded.message


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_headers_of_each_system(case: Case, tmp_path: Path) -> None:
    environ = dict(case.environ)
    if case.event is not None:
        event = tmp_path / "event.json"
        event.write_text(json.dumps(case.event))
        environ["GITHUB_EVENT_PATH"] = str(event)
    attribution = ci.detect(environ)
    expected = case.headers | ({"Base-Branch": case.base} if case.base else {})
    assert ci.headers(attribution) == {f"X-CI-{name}": value for name, value in expected.items()}
    gateway_reads(ci.headers(attribution))


def test_teamcity_names_the_change_in_its_properties_files(tmp_path: Path) -> None:
    configuration = tmp_path / "config.properties"
    configuration.write_text(
        "#Properties of the build\n"
        "teamcity.build.id=9001\n"
        "teamcity.build.branch=pull/12\n"
        "teamcity.pullRequest.number=12\n"
        "teamcity.pullRequest.source.branch=refs/heads/pay\\u00e9\n"
        "teamcity.pullRequest.target.branch=main\n"
        "vcsroot.url=https\\://bot\\:secret@git.example.com/team/app.git\n"
    )
    build = tmp_path / "build.properties"
    build.write_text(f"teamcity.configuration.properties.file={configuration}\n")
    attribution = ci.detect(
        {
            "TEAMCITY_VERSION": "2026.1",
            "TEAMCITY_BUILD_PROPERTIES_FILE": str(build),
            "BUILD_NUMBER": "5",
            "BUILD_URL": "https://teamcity.example.com/build/9001",
            "BUILD_VCS_NUMBER": SHA,
        }
    )
    assert attribution == ci.Attribution(
        "teamcity", SHA, "payé", 12, "https://teamcity.example.com/build/9001", "9001", "team/app", "main"
    )


def test_teamcity_main_of_a_fork_is_not_main(tmp_path: Path) -> None:
    file = tmp_path / "all.properties"
    change = "number=12\nteamcity.pullRequest.source.branch=main\nteamcity.pullRequest.target.branch=main\n"
    file.write_text(f"teamcity.configuration.properties.file={file}\nteamcity.pullRequest.{change}")
    assert ci.detect({"TEAMCITY_VERSION": "1", "TEAMCITY_BUILD_PROPERTIES_FILE": str(file)}).branch == "fork:main"


@pytest.mark.parametrize(("written", "branch"), [("<default>", None), ("refs/heads/main", "main"), ("a/b", "a/b")])
def test_teamcity_branch(written: str, branch: str | None, tmp_path: Path) -> None:
    file = tmp_path / "all.properties"
    file.write_text(f"teamcity.configuration.properties.file={file}\nteamcity.build.branch={written}\n")
    assert ci.detect({"TEAMCITY_VERSION": "1", "TEAMCITY_BUILD_PROPERTIES_FILE": str(file)}).branch == branch


def test_teamcity_without_its_properties_file(tmp_path: Path) -> None:
    environ = {
        "TEAMCITY_VERSION": "1",
        "BUILD_NUMBER": "5",
        "TEAMCITY_BUILD_PROPERTIES_FILE": str(tmp_path / "absent"),
    }
    assert ci.detect(environ) == ci.Attribution(system="teamcity", run_id="5")


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1]", b"null", b"\xff\xfe", b'{"pull_request": 3}', b'{"pull_request": {"head": null, "base": []}}'],
)
def test_a_broken_event_file_leaves_what_the_variables_say(content: bytes, tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_bytes(content)
    attribution = ci.detect(GITHUB_PULL | {"GITHUB_EVENT_PATH": str(event)})
    assert (attribution.branch, attribution.pr_number, attribution.base_branch, attribution.commit_sha) == (
        "pay",
        12,
        "release/2",
        None,
    )


def test_an_unreadable_event_file_is_ignored(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent", "\0"):
        assert ci.detect(GITHUB_PULL | {"GITHUB_EVENT_PATH": str(path)}).pr_number == 12


def test_a_triggered_workflow_without_an_event_is_not_attributed_to_the_default_branch() -> None:
    environ = GITHUB_PULL | {
        "GITHUB_EVENT_NAME": "workflow_run",
        "GITHUB_REF": "refs/heads/main",
        "GITHUB_BASE_REF": "",
    }
    assert ci.detect(environ).branch is None


def test_empty_variables_are_absent() -> None:
    for case in CASES:
        blank = {name: " " if name.endswith("URL") else "" for name in case.environ}
        assert ci.detect(blank) == ci.Attribution()
    cleared = ci.detect({name: "" if name.startswith("CI_") else value for name, value in GITLAB_MERGE.items()})
    assert ci.headers(cleared) == {"X-CI-System": "gitlab"}


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://github.com/team/app.git", "team/app"),
        ("https://github.com/team/app", "team/app"),
        ("https://ada:ghp_secret@github.com/team/app.git", "team/app"),
        ("https://ghp_secret@git.example.com:8443/team/app.git", "team/app"),
        ("https://git.example.com/team/app.git?token=secret#secret", "team/app"),
        ("git@github.com:team/app.git", "team/app"),
        ("github.com:team/app", "team/app"),
        ("ada@git.example.com:team/mobile/app.git", "team/mobile/app"),
        ("ssh://git@git.example.com:7999/team/app.git", "team/app"),
        ("ssh://git:secret@git.example.com/team/app.git/", "team/app"),
        ("https://bitbucket.example.com/scm/team/app.git", "team/app"),
        ("https://dev.azure.com/org/project/_git/app", "org/project/app"),
        ("git@ssh.dev.azure.com:v3/org/project/app", "org/project/app"),
        ("team/app", "team/app"),
        ("/srv/git/app.git", None),
        ("C:\\work\\app", None),
        ("file:///srv/git/app.git", None),
        ("https://[secret", None),
        ("", None),
        (None, None),
    ],
)
def test_the_name_of_a_repository_has_no_credentials(address: str | None, name: str | None) -> None:
    assert repository_name(address) == name
    assert ci.headers(ci.Attribution(repository=address)) == ({"X-CI-Repository": name} if name else {})


def test_credentials_are_cut_out_of_the_run_url() -> None:
    attribution = ci.Attribution(run_url="https://ada:secret@ci.example.com:8443/job/3?tab=log")
    assert ci.headers(attribution) == {"X-CI-Run-URL": "https://ci.example.com:8443/job/3?tab=log"}


REFUSED = [
    ci.Attribution(run_url="ftp://ci.example.com/1"),
    ci.Attribution(run_url="javascript:alert(1)"),
    ci.Attribution(run_url="https://"),
    ci.Attribution(run_url="https://ada@/1"),
    ci.Attribution(run_url="https://ci.example.com/a b"),
    ci.Attribution(run_url="https://[::1/3"),
    ci.Attribution(run_url="https://ci.example.com/" + "x" * 4000),
    ci.Attribution(branch="x" * 1001),
    ci.Attribution(branch="two\r\nX-Injected: lines"),
    ci.Attribution(branch="caf\udce9"),
    ci.Attribution(commit_sha="\x00"),
    ci.Attribution(pr_number=0),
    ci.Attribution(pr_number=-1),
    ci.Attribution(pr_number=2**31),
]


@pytest.mark.parametrize("attribution", REFUSED, ids=repr)
def test_a_value_that_would_be_refused_is_left_out(attribution: ci.Attribution) -> None:
    assert ci.headers(attribution) == {}


def test_a_long_value_does_not_take_the_others_with_it() -> None:
    attribution = replace(ci.Attribution(system="ci", branch="main"), run_id="x" * 5000)
    assert ci.headers(attribution) == {"X-CI-System": "ci", "X-CI-Branch": "main"}


def test_a_branch_of_any_script_arrives_unchanged() -> None:
    for branch in ("feature/größe", "機能/支払い", "emoji-🚀", "100%", 'quote"d'):
        assert gateway_reads(ci.headers(ci.Attribution(branch=branch))).ci.branch == branch


TEXT = st.none() | st.text(max_size=1100) | st.from_regex(r"https?://[^\r\n]{0,30}")


@given(st.builds(ci.Attribution, TEXT, TEXT, TEXT, st.none() | st.integers(), TEXT, TEXT, TEXT, TEXT))
def test_the_gateway_accepts_every_header(attribution: ci.Attribution) -> None:
    read = gateway_reads(ci.headers(attribution)).ci
    assert is_run_url(read.run_url)

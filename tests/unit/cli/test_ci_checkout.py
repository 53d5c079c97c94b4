"""Attribution by the git checkout around the flows: repositories as CI systems leave them, made with real git."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from mobiletest_cli import ci
from tests.unit.cli.ci_environments import GITHUB, GITLAB_MERGE, JENKINS, pairs

HISTORY = """\
commit refs/heads/main
mark :1
committer a <a@example.com> 1 +0000
data 3
one
commit refs/heads/main
mark :2
committer a <a@example.com> 2 +0000
data 3
two
from :1
commit refs/heads/fix/pay
mark :3
committer a <a@example.com> 3 +0000
data 3
pay
from :2
commit refs/pull/12/merge
mark :4
committer a <a@example.com> 4 +0000
data 5
merge
from :2
merge :3
commit refs/heads/other
mark :5
committer a <a@example.com> 5 +0000
data 5
other
from :1
reset refs/pull/12/head
from :3

"""


def git(folder: Path, *arguments: str, text: str = "") -> str:
    """What git prints."""
    identity = {f"GIT_{role}_{what}": "a@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environ = {**os.environ, **identity, "GIT_CONFIG_GLOBAL": os.devnull}
    command = ["git", "-C", str(folder), "-c", "protocol.file.allow=always", "-c", "advice.detachedHead=false"]
    ended = subprocess.run([*command, *arguments], input=text.encode(), env=environ, check=True, stdout=subprocess.PIPE)
    return ended.stdout.decode().strip()


class Origin:
    """A repository team/app with main, fix/pay, other, and pull request 12 of fix/pay."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "origin"
        self.path.mkdir()
        git(self.path, "init", "-q", "-b", "main")
        git(self.path, "fast-import", "--quiet", text=HISTORY)
        refs = ("main", "fix/pay", "refs/pull/12/merge", "other")
        self.main, self.pay, self.merge, self.other = git(self.path, "rev-parse", *refs).split()

    def clone(self, name: str, ref: str, *options: str) -> Path:
        """A clone in which `ref` was fetched and is checked out, detached."""
        folder = self.folder / name
        git(self.folder, "clone", "-q", "--no-checkout", *options, f"file://{self.path}", name)
        git(folder, "fetch", "-q", "origin", ref)
        git(folder, "checkout", "-q", "FETCH_HEAD")
        git(folder, "remote", "set-url", "origin", "https://git.example.com/team/app.git")
        return folder

    def empty(self, name: str, branch: str) -> Path:
        """A repository without commits."""
        git(self.folder, "init", "-q", "-b", branch, name)
        return self.folder / name


@dataclass(frozen=True)
class Checkouts:
    """Folders by names, and the origin that they are of."""

    origin: Origin
    folders: dict[str, Path]

    def found(self, name: str, environ: dict[str, str]) -> tuple[str | None, str | None, int | None]:
        """Commit, branch and pull request; commits of the origin by their names."""
        attribution = ci.detect(environ, self.folders[name])
        names = {getattr(self.origin, each): each for each in ("main", "pay", "merge", "other")}
        commit = attribution.commit_sha
        return names.get(commit or "", commit), attribution.branch, attribution.pr_number


@pytest.fixture(scope="module")
def checkouts(tmp_path_factory: pytest.TempPathFactory) -> Checkouts:
    origin = Origin(tmp_path_factory.mktemp("git"))
    main, pay, pull = (
        origin.clone(n, ref) for n, ref in (("m", "main"), ("p", "fix/pay"), ("12", "refs/pull/12/merge"))
    )
    flows = pay / "e2e" / "flows"
    flows.mkdir(parents=True)
    worktree = origin.folder / "w"
    git(pay, "worktree", "add", "-q", "--detach", str(worktree), "origin/other")
    packed = origin.clone("packed", "other")
    git(packed, "pack-refs", "--all")
    local = origin.clone("local", "main")
    git(local, "checkout", "-q", "-B", "fix/pay", "origin/fix/pay")
    merged = origin.clone("merged", "main")
    git(merged, "checkout", "-q", "main")
    git(merged, "merge", "-q", "--no-ff", "--no-edit", "origin/fix/pay")
    behind = origin.clone("behind", "main")
    git(behind, "checkout", "-q", "-B", "main", "origin/main~1")
    bumped = origin.clone("bumped", "main")
    git(bumped, "checkout", "-q", "main")
    git(bumped, "commit", "-q", "--allow-empty", "-m", "version 2")
    renamed = origin.clone("renamed", "main")
    git(renamed, "remote", "rename", "origin", "upstream")
    fork = origin.clone("fork", "main")
    git(fork, "remote", "set-url", "origin", "https://git.example.com/ada/app.git")
    second = origin.clone("second", "main")
    git(second, "remote", "rename", "origin", "ada")
    git(second, "remote", "set-url", "ada", "https://git.example.com/ada/app.git")
    git(second, "remote", "add", "origin", "https://git.example.com/team/app.git")
    numbered = origin.clone("numbered", "fix/pay")
    git(numbered, "update-ref", "refs/remotes/origin/pr/12", origin.pay)
    twice = origin.clone("twice", "main")
    git(twice, "update-ref", "refs/remotes/origin/release", origin.main)
    alone = origin.empty("alone", "feature/a")
    git(alone, "commit", "-q", "--allow-empty", "-m", "one")
    detached = origin.empty("detached", "feature/b")
    git(detached, "commit", "-q", "--allow-empty", "-m", "one")
    git(detached, "checkout", "-q", "--detach")
    fetched = origin.empty("fetched", "main")
    git(fetched, "remote", "add", "origin", f"file://{origin.path}")
    git(fetched, "-c", "remote.origin.fetch=", "fetch", "-q", "--depth=1", f"file://{origin.path}", "fix/pay")
    git(fetched, "reset", "-q", "--hard", "FETCH_HEAD")
    initialised = origin.empty("initialised", "main")
    git(initialised, "remote", "add", "origin", f"file://{origin.path}")
    git(initialised, "fetch", "-q", f"file://{origin.path}", f"{origin.pay}")
    git(initialised, "reset", "-q", "--hard", origin.pay)
    outer = origin.clone("outer", "other")
    git(outer, "submodule", "add", "-q", str(origin.path), "flows")
    shallow = origin.clone("shallow", "fix/pay", "--depth=1", "--no-single-branch")
    return Checkouts(
        origin,
        {
            "main": main,
            "pay": flows,
            "pull": pull,
            "worktree": worktree,
            "packed": packed,
            "local": local,
            "merged": merged,
            "behind": behind,
            "bumped": bumped,
            "renamed": renamed,
            "fork": fork,
            "second": second,
            "numbered": numbered,
            "twice": twice,
            "alone": alone,
            "detached": detached,
            "fetched": fetched,
            "initialised": initialised,
            "submodule": outer / "flows",
            "shallow": shallow,
            "unborn": origin.empty("unborn", "main"),
            "none": origin.folder,
        },
    )


@pytest.fixture(params=["git", "no git"])
def _program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "no git":
        monkeypatch.setenv("PATH", "")


@pytest.mark.usefixtures("_program")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("main", ("main", "main", None)),
        ("pay", ("pay", "fix/pay", None)),
        ("pull", ("merge", None, 12)),
        ("worktree", ("other", "other", None)),
        ("packed", ("other", "other", None)),
        ("local", ("pay", "fix/pay", None)),
        ("renamed", ("main", "main", None)),
        ("fork", ("main", "main", None)),
        ("second", ("main", "ada:main", None)),
        ("numbered", ("pay", "fix/pay", 12)),
        ("twice", ("main", None, None)),
        ("fetched", ("pay", "fix/pay", None)),
        ("initialised", ("pay", None, None)),
        ("submodule", ("other", "other", None)),
        ("shallow", ("pay", "fix/pay", None)),
        ("unborn", (None, None, None)),
        ("none", (None, None, None)),
    ],
)
def test_checkout_of_an_unknown_system(
    checkouts: Checkouts, name: str, expected: tuple[str | None, str | None, int | None]
) -> None:
    assert checkouts.found(name, {"CI": "true"}) == expected


@pytest.mark.usefixtures("_program")
def test_repository_without_remotes(checkouts: Checkouts) -> None:
    assert checkouts.found("alone", {"CI": "true"})[1:] == ("feature/a", None)
    assert checkouts.found("detached", {"CI": "true"})[1:] == ("feature/b", None)


@pytest.mark.usefixtures("_program")
def test_local_branch_with_commits_of_another_is_not_that_branch(checkouts: Checkouts) -> None:
    assert checkouts.found("merged", {"CI": "true"})[1:] == (None, None)


def test_local_branch_whose_remote_went_on(checkouts: Checkouts) -> None:
    assert checkouts.found("behind", {"CI": "true"})[1:] == ("main", None)


def test_checkout_is_not_read_outside_of_ci(checkouts: Checkouts) -> None:
    assert ci.detect({}, checkouts.folders["main"]) == ci.Attribution()


def test_checkout_names_repository_and_default_branch(checkouts: Checkouts) -> None:
    known = ci.detect({"CI": "true"}, checkouts.folders["pay"])
    assert (known.repository, known.base_branch) == ("team/app", "main")


def test_git_that_does_not_answer_is_not_waited_for(
    checkouts: Checkouts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "git"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("mobiletest_cli.ci.checkout.SECONDS", 0.2)
    assert checkouts.found("pay", {"CI": "true"}) == ("pay", "fix/pay", None)


@pytest.mark.usefixtures("_program")
@pytest.mark.parametrize(
    "files",
    [
        {".git": "gitdir: nowhere"},
        {".git": "\0"},
        {".git/config": "x"},
        {".git/HEAD": ""},
        {".git/HEAD": "ref: refs/heads/main", ".git/refs/heads/main": ""},
        {".git/HEAD": "ref: refs/heads/main", ".git/packed-refs": "^\n#\nx"},
        {".git/HEAD": "ref: refs/heads/main", ".git/commondir": "../../.."},
    ],
)
def test_a_broken_repository_is_ignored(tmp_path: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    assert ci.detect({"CI": "true"}, tmp_path / "flows") == ci.Attribution(system="ci")


def test_checkout_of_another_user(checkouts: Checkouts, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(checkouts.folders["merged"], copy)
    if os.geteuid() == 0:  # only root can give files away
        for path in (copy, copy / ".git"):
            os.chown(path, 4711, 4711)
    assert (
        ci.detect({"CI": "true"}, copy).commit_sha == ci.detect({"CI": "true"}, checkouts.folders["merged"]).commit_sha
    )
    drone = pairs("DRONE=true DRONE_REPO=team/app DRONE_BRANCH=main DRONE_PULL_REQUEST=12 DRONE_SOURCE_BRANCH=fix/pay")
    known = ci.detect(drone | {"DRONE_COMMIT_SHA": checkouts.origin.pay}, copy)
    assert (known.commit_sha, known.branch) == (checkouts.origin.pay, "fix/pay")


def github(event_name: str, sha: str, event: object, folder: Path, **variables: str) -> dict[str, str]:
    """The environment of an event."""
    path = folder / "event.json"
    path.write_text(json.dumps(event))
    names = {"GITHUB_EVENT_NAME": event_name, "GITHUB_SHA": sha, "GITHUB_EVENT_PATH": str(path)}
    return GITHUB | names | {"GITHUB_REF": "refs/heads/main"} | variables


REPOSITORY = {"repository": {"default_branch": "main"}}
COMMENT = REPOSITORY | {"issue": {"number": 12, "pull_request": {"url": "https://x"}}}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pay", ("pay", "fix/pay", 12)),
        ("pull", ("merge", None, 12)),
        ("main", (None, None, 12)),
        ("fork", (None, None, 12)),
        ("merged", (None, None, 12)),
        ("none", (None, None, 12)),
    ],
)
def test_comment_tests_what_its_job_checks_out(
    checkouts: Checkouts, tmp_path: Path, name: str, expected: tuple[str | None, str | None, int | None]
) -> None:
    environ = github("issue_comment", checkouts.origin.main, COMMENT, tmp_path)
    commit, branch, number = checkouts.found(name, environ)
    assert (commit if name != "merged" else None, branch, number) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("main", ("main", "main", None)),
        ("pay", ("pay", "fix/pay", None)),
        ("pull", ("merge", None, 12)),
        ("worktree", ("other", "other", None)),
        ("bumped", ("main", "main", None)),
        ("none", ("main", "main", None)),
        ("alone", ("main", "main", None)),
    ],
)
def test_job_of_the_default_branch_that_tests_another_ref(
    checkouts: Checkouts, tmp_path: Path, name: str, expected: tuple[str | None, str | None, int | None]
) -> None:
    environ = github("workflow_dispatch", checkouts.origin.main, REPOSITORY, tmp_path)
    assert checkouts.found(name, environ) == expected


@pytest.mark.parametrize("event", [REPOSITORY, {}])
def test_job_of_another_branch_that_checks_out_the_base_branch(
    checkouts: Checkouts, tmp_path: Path, event: object
) -> None:
    environ = github("push", checkouts.origin.other, event, tmp_path, GITHUB_REF="refs/heads/other")
    assert checkouts.found("main", environ) == ("main", None, None)


def test_merge_into_the_default_branch_is_of_no_branch(checkouts: Checkouts, tmp_path: Path) -> None:
    environ = github("workflow_dispatch", checkouts.origin.main, REPOSITORY, tmp_path)
    commit, branch, number = checkouts.found("merged", environ)
    assert (commit != "main", branch, number) == (True, None, None)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pull", ("pay", "fix/pay", 12)),
        ("pay", ("pay", "fix/pay", 12)),
        ("merged", ("pay", "fix/pay", 12)),
        ("worktree", ("other", "other", None)),
        ("main", ("main", None, None)),
    ],
)
def test_job_of_a_pull_request(
    checkouts: Checkouts, tmp_path: Path, name: str, expected: tuple[str | None, str | None, int | None]
) -> None:
    head = {"ref": "fix/pay", "sha": checkouts.origin.pay, "repo": {"full_name": "team/app"}}
    base = {"ref": "main", "repo": {"full_name": "team/app"}}
    event = {"pull_request": {"number": 12, "head": head, "base": base}}
    environ = github("pull_request", checkouts.origin.merge, event, tmp_path, GITHUB_REF="refs/pull/12/merge")
    assert checkouts.found(name, environ) == expected


def test_workflow_that_runs_after_another_tests_the_build_of_that(checkouts: Checkouts, tmp_path: Path) -> None:
    run = {"head_sha": checkouts.origin.pay, "head_branch": "main", "head_repository": {"full_name": "ada/app"}}
    environ = github("workflow_run", checkouts.origin.main, {"workflow_run": run}, tmp_path)
    assert checkouts.found("main", environ) == ("pay", "ada:main", None)


def test_personal_build_of_teamcity_is_of_no_branch(checkouts: Checkouts) -> None:
    environ = {"TEAMCITY_VERSION": "1", "BUILD_IS_PERSONAL": "true", "BUILD_VCS_NUMBER": checkouts.origin.main}
    assert checkouts.found("main", environ) == (None, None, None)
    assert checkouts.found("main", environ | {"BUILD_IS_PERSONAL": ""}) == ("main", "main", None)


def test_a_checkout_of_another_repository_is_ignored(checkouts: Checkouts, tmp_path: Path) -> None:
    environ = github("push", "f" * 40, REPOSITORY, tmp_path, GITHUB_REPOSITORY="team/flows")
    assert checkouts.found("pay", environ) == ("f" * 40, "main", None)


def test_main_that_was_moved_to_the_commit_of_a_branch_is_that_branch(checkouts: Checkouts) -> None:
    """A merge without a commit of its own, which looks like a commit that the job made on main."""
    moved = checkouts.origin.clone("moved", "fix/pay")
    git(moved, "checkout", "-q", "-B", "main")
    environ = JENKINS | pairs(f"GIT_BRANCH=origin/main GIT_COMMIT={checkouts.origin.main}")
    attribution = ci.detect(environ, moved)
    assert (attribution.commit_sha, attribution.branch) == (checkouts.origin.pay, "fix/pay")


@pytest.mark.parametrize("how", ["--no-commit", "--squash"])
def test_main_with_files_of_a_merge_that_is_not_committed_is_of_no_branch(checkouts: Checkouts, how: str) -> None:
    folder = checkouts.origin.clone(f"merging{how}", "other")
    git(folder, "checkout", "-q", "-B", "main")
    git(folder, "merge", "-q", how, "origin/fix/pay")
    for environ in ({"CI": "true"}, JENKINS | pairs(f"GIT_BRANCH=origin/main GIT_COMMIT={checkouts.origin.other}")):
        attribution = ci.detect(environ, folder)
        assert (attribution.commit_sha, attribution.branch) == (None, None)
    on_branch = JENKINS | pairs(f"GIT_BRANCH=origin/other GIT_COMMIT={checkouts.origin.other}")
    assert ci.detect(on_branch, folder).branch == "other"


def test_a_branch_fetched_by_path_is_not_taken_for_a_local_branch(checkouts: Checkouts) -> None:
    taken = checkouts.origin.empty("taken", "main")
    git(taken, "fetch", "-q", str(checkouts.origin.path), "fix/pay")
    git(taken, "reset", "-q", "--hard", "FETCH_HEAD")
    assert ci.detect({"CI": "true"}, taken).branch == "fix/pay"


def test_commit_that_is_in_no_repository_is_believed(checkouts: Checkouts) -> None:
    drone = pairs("CI=true DRONE=true DRONE_BRANCH=main DRONE_PULL_REQUEST=7 DRONE_SOURCE_BRANCH=a DRONE_COMMIT_SHA=p1")
    assert checkouts.found("alone", drone) == ("p1", "a", 7)


def test_a_tag_is_not_taken_for_a_branch_at_its_commit(checkouts: Checkouts, tmp_path: Path) -> None:
    environ = github("push", checkouts.origin.main, REPOSITORY, tmp_path, GITHUB_REF="refs/tags/v1")
    assert checkouts.found("main", environ) == ("main", None, None)


def test_pipeline_for_merged_results(checkouts: Checkouts) -> None:
    shas = {"CI_COMMIT_SHA": checkouts.origin.merge, "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": checkouts.origin.pay}
    assert checkouts.found("pull", GITLAB_MERGE | shas) == ("pay", "pay", 3)


@pytest.mark.parametrize(
    ("name", "ref", "branch"),
    [
        ("renamed", "upstream/main", "main"),
        ("main", "fix/login", "fix/login"),
        ("second", "ada/main", "ada:main"),
        ("second", "origin/main", "main"),
    ],
)
def test_jenkins_remotes_are_those_of_the_checkout(checkouts: Checkouts, name: str, ref: str, branch: str) -> None:
    environ = JENKINS | {"GIT_BRANCH": ref, "GIT_COMMIT": checkouts.origin.main}
    assert checkouts.found(name, environ) == ("main", branch, None)


def test_jenkins_in_the_checkout_of_another_repository(checkouts: Checkouts) -> None:
    environ = JENKINS | pairs("GIT_URL=git@hub.example.com:o/r.git GIT_COMMIT=abc GIT_BRANCH=upstream/main")
    assert checkouts.found("pay", environ) == ("abc", "main", None)


def test_system_that_names_no_branch(checkouts: Checkouts) -> None:
    environ = pairs("CI=1 EAS_BUILD=true") | {"EAS_BUILD_GIT_COMMIT_HASH": checkouts.origin.pay}
    assert checkouts.found("pay", environ) == ("pay", "fix/pay", None)


def test_unknown_branch_is_said_with_the_flags_to_use(checkouts: Checkouts) -> None:
    assert ci.missing_branch(ci.Attribution()) is None
    assert ci.missing_branch(ci.detect({"CI": "true"}, checkouts.folders["main"])) is None
    message, hint = ci.missing_branch(ci.detect({"CI": "true"})) or ("", "")
    assert message == (
        "the branch and commit under test are not known (this CI system is not known): the run counts for no branch"
    )
    assert hint == "Give --ci-branch NAME and --ci-commit SHA"
    eas = ci.Attribution(system="eas", commit_sha="1", pr_number=12)
    message, hint = ci.missing_branch(eas) or ("", "")
    assert message == "the branch under test is not known (CI is eas, pull request 12): the run counts for no branch"
    assert hint == "Give --ci-branch NAME"


def test_description_says_where_branch_and_commit_come_from(checkouts: Checkouts) -> None:
    folder = checkouts.folders["main"]
    known = ci.detect({"CI": "true"}, folder)
    sha = checkouts.origin.main
    assert ci.describe(known) == (
        f"ci, branch main, commit {sha}, base branch main, repository team/app (from the git checkout {folder})"
    )
    assert ci.describe(ci.detect(pairs("TRAVIS=true TRAVIS_BRANCH=pay"))) == (
        "travis, branch pay (from the variables of travis)"
    )

"""Which build says what is broken on an app, a branch or a pull request, and with which it is compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from mobiletest_cli.api import Api
from mobiletest_cli.errors import NOT_FOUND, USAGE, CliError

if TYPE_CHECKING:
    from mobiletest_cli.api_types import AppBranch, AppBranchBuild, AppWorkspace, Execution

# The default of the API.
USUAL_BASE = "main"
# Newest executions of a pull request in which repositories are looked for, as on its page in the dashboard.
_EXECUTIONS = 20


@dataclass(frozen=True)
class Change:
    """A branch by its name, or a pull request by its number."""

    name: str
    is_pull_request: bool = False

    def __str__(self) -> str:
        return f"pull request {self.name}" if self.is_pull_request else f'branch "{self.name}"'


class ChosenBuilds(NamedTuple):
    """The ids of a build and of its base, None if the server is to choose that; other branches that tested it."""

    build_id: str
    base_id: str | None = None
    sharing: Sequence[str] = ()


def choose_builds(
    api: Api, app_id: object, branch: str | None, pr_number: int | None, base_branch: str | None
) -> ChosenBuilds:
    """What says what is broken on a branch or a pull request; on the app's newest build with a verdict without them.

    Raises:
        CliError: as `newest_tested_build` and `compared_builds`.
    """
    if branch is None and pr_number is None:
        return ChosenBuilds(newest_tested_build(api, app_id))
    change = Change(str(branch or pr_number), pr_number is not None)
    build_id, base_id = compared_builds(api, app_id, change, base_branch)
    return ChosenBuilds(build_id, base_id, sharing_branches(api, app_id, change, build_id))


def newest_tested_build(api: Api, app_id: object) -> str:
    """The id of the newest build of the app with a verdict.

    Raises:
        CliError: none of the newest 50 builds has one.
    """
    workspace: AppWorkspace = api.get(f"apps/{app_id}/workspace")
    tested = next((build["build_id"] for build in workspace["build_health"] if build["completed_runs"]), None)
    if tested is None:
        raise CliError("none of the newest builds has a verdict", NOT_FOUND, "Name a build: mobiletest builds list")
    return tested


def compared_builds(api: Api, app_id: object, change: Change, base_branch: str | None) -> tuple[str, str | None]:
    """The ids of the newest build of the branch with a verdict, and of the newest one of the base branch before it.

    The second is None if the server has to choose it: on the base branch itself, and if that has no build.

    Raises:
        CliError: no build is known to be of the branch, or pull requests of several repositories have the number.
    """
    builds = _builds(api, app_id, change)
    if change.is_pull_request:
        _check_repository(api, app_id, change, builds)
    if not builds:
        hint = (
            "Its runs must name it (--ci-branch), and have ended. mobiletest apps branches lists those that are known"
        )
        raise CliError(f"no build of this app was tested on the {change}", NOT_FOUND, hint)
    workspace: AppWorkspace = api.get(f"apps/{app_id}/workspace")
    untested = {build["build_id"] for build in workspace["build_health"] if not build["completed_runs"]}
    tested = next((build for build in builds if build["build_id"] not in untested), builds[0])
    base = Change(base_branch or USUAL_BASE)
    if change == base:
        return tested["build_id"], None
    candidates = [
        each for each in _builds(api, app_id, base) if each["build_id"] not in {tested["build_id"], *untested}
    ]
    earlier = (each for each in candidates if str(each["uploaded_at"]) < str(tested["uploaded_at"]))
    chosen = next(earlier, candidates[0] if candidates else None)
    return tested["build_id"], chosen["build_id"] if chosen else None


def _builds(api: Api, app_id: object, change: Change) -> Sequence[AppBranchBuild]:
    """The builds that runs of the branch tested, newest first."""
    kind = "pull_request" if change.is_pull_request else "branch"
    found: list[AppBranch] = api.get(f"apps/{app_id}/branches", kind=kind, name=change.name)["items"]
    return found[0]["builds"] if found else ()


def _check_repository(api: Api, app_id: object, change: Change, builds: Sequence[AppBranchBuild]) -> None:
    """CliError: the number is that of pull requests of several repositories, which have no verdict together."""
    executions: Iterable[Execution] = api.pages("executions", limit=_EXECUTIONS, app_id=app_id, pr_number=change.name)
    named = [each["ci"]["repository"] for each in executions if each["ci"]]
    every = {
        text.rstrip("/").removesuffix(".git") for text in (*named, *(each["repository"] for each in builds)) if text
    }
    if len(every) > 1:
        hint = f"Name a build of the one that is meant; they are of {', '.join(sorted(every)[:_EXECUTIONS])}"
        raise CliError(f"pull requests of several repositories have the number {change.name}", USAGE, hint)


def sharing_branches(api: Api, app_id: object, change: Change, build_id: str) -> list[str]:
    """Other branches and pull requests whose runs tested the build, of the 50 that ran last.

    A build has one result for each test, that of the newest run, whichever of them that is of.
    """
    branches: list[AppBranch] = api.get(f"apps/{app_id}/branches", page_size=50)["items"]
    sharing = [each for each in branches if build_id in {build["build_id"] for build in each["builds"]}]
    own = {_source(each) for each in sharing if _as_change(each) == change}
    return [str(_as_change(each)) for each in sharing if _source(each) not in own and _as_change(each) != change]


def _as_change(branch: AppBranch) -> Change:
    return Change(branch["name"], branch["kind"] == "pull_request")


def _source(branch: AppBranch) -> Change:
    """What is one with the branch: a pull request and its branch are the same change."""
    head = branch["head_branch"]
    return Change(head) if branch["kind"] == "pull_request" and head else _as_change(branch)


def build_words(build: Any) -> str:
    """ "2.0 (feature/x, 1a2b3c4d5)": a build of a comparison with the branch and the commit that its runs named."""
    known = ", ".join(filter(None, (build["branch"], (build["commit_sha"] or "")[:9])))
    return f"{build['version']} ({known})" if known else str(build["version"])

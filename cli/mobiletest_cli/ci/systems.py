"""CI systems whose environment variables say everything: one function each, with the vendor's names."""

from __future__ import annotations

from urllib.parse import quote

from mobiletest_cli.ci.attribution import Attribution, branch_name, head_branch, read_number, repository_name
from mobiletest_cli.ci.environment import Environment


def gitlab(env: Environment) -> Attribution:
    """Merge request pipelines have no CI_COMMIT_BRANCH; only pipelines for merged results have a source branch SHA."""
    source, target = env["CI_MERGE_REQUEST_SOURCE_PROJECT_PATH"], env["CI_MERGE_REQUEST_PROJECT_PATH"]
    external = env["CI_EXTERNAL_PULL_REQUEST_SOURCE_BRANCH_NAME"]
    merged = env["CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"] or env["CI_EXTERNAL_PULL_REQUEST_SOURCE_BRANCH_SHA"]
    return Attribution(
        system="gitlab",
        commit_sha=merged or env["CI_COMMIT_SHA"],
        branch=head_branch(env["CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"], source=source, target=target)
        or external
        or env["CI_COMMIT_BRANCH"],
        pr_number=read_number(env["CI_MERGE_REQUEST_IID"] or env["CI_EXTERNAL_PULL_REQUEST_IID"]),
        run_url=env["CI_PIPELINE_URL"] or env["CI_JOB_URL"],
        run_id=env["CI_PIPELINE_ID"] or env["CI_JOB_ID"],
        repository=target or env["CI_PROJECT_PATH"] or repository_name(env["CI_REPOSITORY_URL"]),
        base_branch=env["CI_MERGE_REQUEST_TARGET_BRANCH_NAME"]
        or env["CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_NAME"]
        or env["CI_DEFAULT_BRANCH"],
    )


def jenkins(env: Environment) -> Attribution:
    """In a multibranch build of a change, BRANCH_NAME is "PR-12"; CHANGE_FORK is "owner" or "owner/repository"."""
    branch = env["CHANGE_BRANCH"] or (None if env["CHANGE_ID"] else env["BRANCH_NAME"] or env["GIT_BRANCH"])
    fork = (env["CHANGE_FORK"] or "").partition("/")[0]
    name = None if env["TAG_NAME"] else branch_name(_without_remote(branch))
    return Attribution(
        system="jenkins",
        commit_sha=env["GIT_COMMIT"],
        branch=f"{fork}:{name}" if fork and name else name,
        pr_number=read_number(env["CHANGE_ID"]),
        run_url=env["BUILD_URL"],
        run_id=env["BUILD_TAG"] or env["BUILD_NUMBER"],
        repository=repository_name(env["GIT_URL"] or env["GIT_URL_1"]),
        base_branch=env["CHANGE_TARGET"],
    )


def circleci(env: Environment) -> Attribution:
    """The base branch is in no variable. Builds of forks have the branch "pull/12"."""
    owner, name = env["CIRCLE_PROJECT_USERNAME"], env["CIRCLE_PROJECT_REPONAME"]
    pull_request = env["CIRCLE_PULL_REQUEST"] or (env["CIRCLE_PULL_REQUESTS"] or "").partition(",")[0]
    return Attribution(
        system="circleci",
        commit_sha=env["CIRCLE_SHA1"],
        branch=None if env["CIRCLE_TAG"] else env["CIRCLE_BRANCH"],
        pr_number=read_number(env["CIRCLE_PR_NUMBER"] or pull_request),
        run_url=env["CIRCLE_BUILD_URL"],
        run_id=env["CIRCLE_WORKFLOW_ID"] or env["CIRCLE_BUILD_NUM"],
        repository=f"{owner}/{name}" if owner and name else repository_name(env["CIRCLE_REPOSITORY_URL"]),
    )


def buildkite(env: Environment) -> Attribution:
    """BUILDKITE_PULL_REQUEST is "false" without one; BUILDKITE_COMMIT is "HEAD" until the agent resolves it."""
    number = read_number(env["BUILDKITE_PULL_REQUEST"])
    branch, commit = env["BUILDKITE_BRANCH"], env["BUILDKITE_COMMIT"]
    if number and branch and ":" not in branch:  # pipelines can be set to prefix the branches of forks themselves
        branch = head_branch(branch, source=env["BUILDKITE_PULL_REQUEST_REPO"], target=env["BUILDKITE_REPO"])
    return Attribution(
        system="buildkite",
        commit_sha=None if commit == "HEAD" else commit,
        branch=None if env["BUILDKITE_TAG"] else branch,
        pr_number=number,
        run_url=env["BUILDKITE_BUILD_URL"],
        run_id=env["BUILDKITE_BUILD_ID"] or env["BUILDKITE_BUILD_NUMBER"],
        repository=repository_name(env["BUILDKITE_REPO"]),
        base_branch=env["BUILDKITE_PULL_REQUEST_BASE_BRANCH"]
        or env["BUILDKITE_MERGE_QUEUE_BASE_BRANCH"]
        or env["BUILDKITE_PIPELINE_DEFAULT_BRANCH"],
    )


def bitrise(env: Environment) -> Attribution:
    """Manually started builds have no BITRISE_GIT_COMMIT; the clone step then sets GIT_CLONE_COMMIT_HASH."""
    owner, name = env["BITRISEIO_GIT_REPOSITORY_OWNER"], env["BITRISEIO_GIT_REPOSITORY_SLUG"]
    url = env["GIT_REPOSITORY_URL"]
    source = env["BITRISEIO_PULL_REQUEST_REPOSITORY_URL"]
    return Attribution(
        system="bitrise",
        commit_sha=env["BITRISE_GIT_COMMIT"] or env["GIT_CLONE_COMMIT_HASH"],
        branch=None if env["BITRISE_GIT_TAG"] else head_branch(env["BITRISE_GIT_BRANCH"], source=source, target=url),
        pr_number=read_number(env["BITRISE_PULL_REQUEST"]),
        run_url=env["BITRISE_BUILD_URL"],
        run_id=env["BITRISE_BUILD_SLUG"] or env["BITRISE_BUILD_NUMBER"],
        repository=f"{owner}/{name}" if owner and name else repository_name(url),
        base_branch=env["BITRISEIO_GIT_BRANCH_DEST"],
    )


def azure_pipelines(env: Environment) -> Attribution:
    """The number of a pull request is the id on Azure Repos; on GitHub the id is internal."""
    number = env["SYSTEM_PULLREQUEST_PULLREQUESTNUMBER"] or env["SYSTEM_PULLREQUEST_PULLREQUESTID"]
    return Attribution(
        system="azure-pipelines",
        commit_sha=env["SYSTEM_PULLREQUEST_SOURCECOMMITID"] or env["BUILD_SOURCEVERSION"],
        branch=_azure_head(env) or branch_name(env["BUILD_SOURCEBRANCH"]),
        pr_number=read_number(number),
        run_url=_azure_link(env),
        run_id=env["BUILD_BUILDID"],
        repository=env["BUILD_REPOSITORY_NAME"] or repository_name(env["BUILD_REPOSITORY_URI"]),
        base_branch=branch_name(env["SYSTEM_PULLREQUEST_TARGETBRANCH"]),
    )


def bitbucket(env: Environment) -> Attribution:
    """Pull requests from forks are not built in the repository that they are for."""
    repository, build = env["BITBUCKET_REPO_FULL_NAME"], env["BITBUCKET_BUILD_NUMBER"]
    return Attribution(
        system="bitbucket",
        commit_sha=env["BITBUCKET_COMMIT"],
        branch=env["BITBUCKET_BRANCH"],
        pr_number=read_number(env["BITBUCKET_PR_ID"]),
        run_url=f"https://bitbucket.org/{repository}/pipelines/results/{build}" if repository and build else None,
        run_id=build,
        repository=repository or repository_name(env["BITBUCKET_GIT_HTTP_ORIGIN"]),
        base_branch=env["BITBUCKET_PR_DESTINATION_BRANCH"],
    )


def codemagic(env: Environment) -> Attribution:
    """CM_BRANCH and CM_COMMIT are those of the source in builds of pull requests."""
    project, build = env["CM_PROJECT_ID"], env["CM_BUILD_ID"]
    return Attribution(
        system="codemagic",
        commit_sha=env["CM_COMMIT"],
        branch=None if env["CM_TAG"] else env["CM_BRANCH"],
        pr_number=read_number(env["CM_PULL_REQUEST_NUMBER"]) if env.is_true("CM_PULL_REQUEST") else None,
        run_url=f"https://codemagic.io/app/{project}/build/{build}" if project and build else None,
        run_id=build,
        repository=env["CM_REPO_SLUG"],
        base_branch=env["CM_PULL_REQUEST_DEST"],
    )


def xcode_cloud(env: Environment) -> Attribution:
    """The repository is named in builds of pull requests only."""
    source, target = env["CI_PULL_REQUEST_SOURCE_REPO"], env["CI_PULL_REQUEST_TARGET_REPO"]
    head = head_branch(env["CI_PULL_REQUEST_SOURCE_BRANCH"], source=source, target=target)
    return Attribution(
        system="xcode-cloud",
        commit_sha=env["CI_PULL_REQUEST_SOURCE_COMMIT"] or env["CI_COMMIT"],
        branch=None if env["CI_TAG"] else head or env["CI_BRANCH"],
        pr_number=read_number(env["CI_PULL_REQUEST_NUMBER"]),
        run_url=env["CI_BUILD_URL"],
        run_id=env["CI_BUILD_ID"] or env["CI_BUILD_NUMBER"],
        repository=target,
        base_branch=env["CI_PULL_REQUEST_TARGET_BRANCH"],
    )


def _azure_head(env: Environment) -> str | None:
    branch = branch_name(env["SYSTEM_PULLREQUEST_SOURCEBRANCH"])
    if not branch or not env.is_true("SYSTEM_PULLREQUEST_ISFORK"):
        return branch
    fork = repository_name(env["SYSTEM_PULLREQUEST_SOURCEREPOSITORYURI"]) or ""
    return f"{fork.rpartition('/')[0] or 'fork'}:{branch}"


def _azure_link(env: Environment) -> str | None:
    collection = env["SYSTEM_COLLECTIONURI"] or env["SYSTEM_TEAMFOUNDATIONCOLLECTIONURI"]
    project, build = env["SYSTEM_TEAMPROJECT"], env["BUILD_BUILDID"]
    if not collection or not project or not build:
        return None
    return f"{collection.rstrip('/')}/{quote(project)}/_build/results?buildId={build}"


def _without_remote(branch: str | None) -> str | None:
    """GIT_BRANCH of Jenkins is "origin/main"."""
    return branch[len("origin/") :] if branch and branch.startswith("origin/") else branch

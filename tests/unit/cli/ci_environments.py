"""Environments of CI systems as their vendors document them, and the X-CI headers that they lead to."""

from typing import NamedTuple

SHA = "0f3c1e9b7a6d5c4b3a29181706f5e4d3c2b1a090"
MERGE = "ffffffffffffffffffffffffffffffffffffffff"


def pairs(text: str) -> dict[str, str]:
    """Names and values of "A=1 B=2"."""
    return dict(pair.split("=", 1) for pair in text.split())


class Case(NamedTuple):
    """An environment, the contents of its event file, the headers (without "X-CI-") and the base branch."""

    name: str
    environ: dict[str, str]
    headers: dict[str, str]
    base: str | None = None
    event: object = None


GITHUB = pairs(
    "CI=true GITHUB_ACTIONS=true GITHUB_REPOSITORY=team/app GITHUB_RUN_ID=77 "
    f"GITHUB_SERVER_URL=https://github.example.com GITHUB_SHA={MERGE}"
)
GITHUB_RUN = pairs(
    "System=github Repository=team/app Run-ID=77 Run-URL=https://github.example.com/team/app/actions/runs/77"
)
GITHUB_PULL = GITHUB | pairs(
    "GITHUB_EVENT_NAME=pull_request GITHUB_REF=refs/pull/12/merge GITHUB_HEAD_REF=pay GITHUB_BASE_REF=release/2"
)
TEAM = {"full_name": "team/app"}
BASE = {"ref": "release/2", "repo": TEAM}


def pull_request(**head: object) -> dict[str, object]:
    return {"pull_request": {"number": 12, "head": {"ref": "pay", "sha": SHA, **head}, "base": BASE}}


GITHUB_CASES = [
    Case(
        "github push",
        GITHUB | pairs(f"GITHUB_EVENT_NAME=push GITHUB_REF=refs/heads/feature/a GITHUB_SHA={SHA}"),
        GITHUB_RUN | pairs(f"Branch=feature/a Commit-SHA={SHA}"),
        "trunk",
        {"repository": {"default_branch": "trunk"}},
    ),
    Case(
        "github pull request",
        GITHUB_PULL,
        GITHUB_RUN | pairs(f"Branch=pay Commit-SHA={SHA} PR-Number=12"),
        "release/2",
        pull_request(repo=TEAM),
    ),
    Case(
        "github pull_request_target",
        GITHUB_PULL | pairs("GITHUB_EVENT_NAME=pull_request_target GITHUB_REF=refs/heads/release/2"),
        GITHUB_RUN | pairs(f"Branch=pay Commit-SHA={SHA} PR-Number=12"),
        "release/2",
        pull_request(repo=TEAM),
    ),
    Case(
        "github pull request from main of a fork",
        GITHUB_PULL | pairs("GITHUB_HEAD_REF=main"),
        GITHUB_RUN | pairs(f"Branch=ada:main Commit-SHA={SHA} PR-Number=12"),
        "release/2",
        pull_request(ref="main", repo={"full_name": "ada/app"}),
    ),
    Case(
        "github pull request from a deleted fork",
        GITHUB_PULL,
        GITHUB_RUN | pairs(f"Branch=ada:pay Commit-SHA={SHA} PR-Number=12"),
        "release/2",
        pull_request(label="ada:pay", repo=None),
    ),
    Case(
        "github pull request without an event file",
        GITHUB_PULL,
        GITHUB_RUN | pairs("Branch=pay PR-Number=12"),
        "release/2",
    ),
    Case(
        "github merge group",
        GITHUB | pairs("GITHUB_EVENT_NAME=merge_group GITHUB_REF=refs/heads/gh-readonly-queue/main/pr-12-0f3c"),
        GITHUB_RUN | pairs(f"Branch=gh-readonly-queue/main/pr-12-0f3c Commit-SHA={SHA}"),
        "main",
        {"merge_group": {"head_sha": SHA, "base_ref": "refs/heads/main"}},
    ),
    Case(
        "github tag",
        GITHUB | pairs("GITHUB_EVENT_NAME=push GITHUB_REF=refs/tags/v1 GITHUB_REF_TYPE=tag"),
        GITHUB_RUN | pairs(f"Commit-SHA={MERGE}"),
        "main",
        {"repository": {"default_branch": "main"}},
    ),
    Case(
        "github workflow_dispatch",
        GITHUB | pairs("GITHUB_EVENT_NAME=workflow_dispatch GITHUB_REF=refs/heads/main"),
        GITHUB_RUN | pairs(f"Branch=main Commit-SHA={MERGE}"),
        "main",
        {"inputs": {}, "repository": {"default_branch": "main"}},
    ),
    Case(
        "github comment on a pull request",
        GITHUB | pairs("GITHUB_EVENT_NAME=issue_comment GITHUB_REF=refs/heads/main"),
        GITHUB_RUN | pairs("PR-Number=12"),
        "main",
        {"issue": {"number": 12, "pull_request": {"url": "https://x"}}, "repository": {"default_branch": "main"}},
    ),
    Case(
        "github command that a comment dispatched",
        GITHUB | pairs("GITHUB_EVENT_NAME=repository_dispatch GITHUB_REF=refs/heads/main"),
        GITHUB_RUN | pairs(f"Branch=pay Commit-SHA={SHA} PR-Number=12"),
        "release/2",
        {"client_payload": pull_request(repo=TEAM)},
    ),
    Case(
        "github check",
        GITHUB | pairs("GITHUB_EVENT_NAME=check_run GITHUB_REF=refs/heads/main"),
        GITHUB_RUN | pairs(f"Branch=pay Commit-SHA={SHA}"),
        None,
        {"check_run": {"check_suite": {"head_sha": SHA, "head_branch": "pay", "pull_requests": []}}},
    ),
    Case(
        "github checks of a fork",
        GITHUB | pairs("GITHUB_EVENT_NAME=check_suite GITHUB_REF=refs/heads/main"),
        GITHUB_RUN | pairs(f"Commit-SHA={SHA}"),
        None,
        {"check_suite": {"head_sha": SHA, "head_branch": None}},
    ),
    Case(
        "github status",
        GITHUB | pairs("GITHUB_EVENT_NAME=status GITHUB_REF=refs/heads/main"),
        GITHUB_RUN | pairs(f"Branch=pay Commit-SHA={SHA}"),
        None,
        {"sha": SHA, "branches": [{"name": "pay"}]},
    ),
    Case(
        "github status of a commit of several branches",
        GITHUB | pairs("GITHUB_EVENT_NAME=status GITHUB_REF=refs/heads/main"),
        GITHUB_RUN | pairs(f"Commit-SHA={SHA}"),
        None,
        {"sha": SHA, "branches": [{"name": "pay"}, {"name": "main"}]},
    ),
    Case(
        "github comment on an issue",
        GITHUB | pairs("GITHUB_EVENT_NAME=issue_comment GITHUB_REF=refs/heads/main"),
        GITHUB_RUN | pairs(f"Branch=main Commit-SHA={MERGE}"),
        "main",
        {"issue": {"number": 12}},
    ),
    Case(
        "github comment without an event file",
        GITHUB | pairs("GITHUB_EVENT_NAME=issue_comment GITHUB_REF=refs/heads/main"),
        GITHUB_RUN,
        "main",
    ),
    Case(
        "github pull request of a fork without an event file",
        GITHUB_PULL | pairs("GITHUB_HEAD_REF=release/2"),
        GITHUB_RUN | pairs("Branch=fork:release/2 PR-Number=12"),
        "release/2",
    ),
    Case(
        "forgejo",
        GITHUB | pairs(f"FORGEJO_ACTIONS=true GITHUB_REF=refs/heads/main GITHUB_SHA={SHA}"),
        GITHUB_RUN | pairs(f"System=forgejo Branch=main Commit-SHA={SHA}"),
    ),
    Case(
        "github workflow_run after a pull request of a fork",
        GITHUB | pairs("GITHUB_EVENT_NAME=workflow_run GITHUB_REF=refs/heads/main"),
        GITHUB_RUN | pairs(f"Branch=ada:main Commit-SHA={SHA}"),
        None,
        {"workflow_run": {"head_sha": SHA, "head_branch": "main", "head_repository": {"full_name": "ada/app"}}},
    ),
    Case(
        "github workflow_run after a pull request of a deleted fork",
        GITHUB | pairs("GITHUB_EVENT_NAME=workflow_run GITHUB_REF=refs/heads/main"),
        GITHUB_RUN | pairs(f"Branch=fork:main Commit-SHA={SHA}"),
        "develop",
        {
            "workflow_run": {"event": "pull_request", "head_sha": SHA, "head_branch": "main", "head_repository": None},
            "repository": {"default_branch": "develop"},
        },
    ),
    *(
        Case(
            f"github workflow_run after a run of {event}",
            GITHUB | pairs("GITHUB_EVENT_NAME=workflow_run GITHUB_REF=refs/heads/main"),
            GITHUB_RUN,
            None,
            {"workflow_run": {"event": event, "head_sha": MERGE, "head_branch": "main", "head_repository": TEAM}},
        )
        for event in ("workflow_run", "issue_comment", "status")
    ),
    Case(
        "github workflow_run after a pull request",
        GITHUB | pairs("GITHUB_EVENT_NAME=workflow_run GITHUB_REF=refs/heads/main"),
        GITHUB_RUN | pairs(f"Branch=pay Commit-SHA={SHA} PR-Number=12"),
        "main",
        {
            "workflow_run": {
                "head_sha": SHA,
                "head_branch": "pay",
                "head_repository": TEAM,
                "pull_requests": [{"number": 12, "base": {"ref": "main"}}],
            }
        },
    ),
]
GITLAB = pairs(
    f"CI=true GITLAB_CI=true CI_COMMIT_SHA={SHA} CI_DEFAULT_BRANCH=main CI_PIPELINE_ID=500 "
    "CI_PIPELINE_URL=https://gitlab.example.com/team/mobile/app/-/pipelines/500 "
    "CI_PROJECT_PATH=team/mobile/app"
)
GITLAB_RUN = pairs(
    f"System=gitlab Commit-SHA={SHA} Run-ID=500 Run-URL={GITLAB['CI_PIPELINE_URL']} Repository=team/mobile/app"
)
GITLAB_MERGE = GITLAB | pairs(
    "CI_COMMIT_REF_NAME=pay CI_MERGE_REQUEST_IID=3 "
    "CI_MERGE_REQUEST_PROJECT_PATH=team/mobile/app "
    "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME=pay "
    "CI_MERGE_REQUEST_SOURCE_PROJECT_PATH=team/mobile/app "
    "CI_MERGE_REQUEST_TARGET_BRANCH_NAME=release"
)
GITLAB_CASES = [
    Case("gitlab branch", GITLAB | pairs("CI_COMMIT_BRANCH=main"), GITLAB_RUN | pairs("Branch=main"), "main"),
    Case("gitlab merge request", GITLAB_MERGE, GITLAB_RUN | pairs("Branch=pay PR-Number=3"), "release"),
    Case(
        "gitlab merged results",
        GITLAB_MERGE | pairs(f"CI_COMMIT_SHA={MERGE} CI_MERGE_REQUEST_SOURCE_BRANCH_SHA={SHA}"),
        GITLAB_RUN | pairs("Branch=pay PR-Number=3"),
        "release",
    ),
    Case(
        "gitlab merge request from a fork",
        GITLAB_MERGE | pairs("CI_PROJECT_PATH=ada/app CI_MERGE_REQUEST_SOURCE_PROJECT_PATH=ada/app"),
        GITLAB_RUN | pairs("Branch=ada:pay PR-Number=3"),
        "release",
    ),
    Case(
        "gitlab external pull request",
        GITLAB
        | pairs(
            "CI_COMMIT_BRANCH=pay CI_EXTERNAL_PULL_REQUEST_IID=12 "
            "CI_EXTERNAL_PULL_REQUEST_SOURCE_BRANCH_NAME=pay "
            f"CI_EXTERNAL_PULL_REQUEST_SOURCE_BRANCH_SHA={SHA} "
            "CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_NAME=trunk"
        ),
        GITLAB_RUN | pairs("Branch=pay PR-Number=12"),
        "trunk",
    ),
    Case(
        "gitlab pipeline of another project's",
        GITLAB | pairs("CI_PIPELINE_SOURCE=pipeline CI_COMMIT_BRANCH=main"),
        {name: value for name, value in GITLAB_RUN.items() if name != "Commit-SHA"},
        "main",
    ),
    Case(
        "gitlab pipeline of another project's, on a branch",
        GITLAB | pairs("CI_PIPELINE_SOURCE=pipeline CI_COMMIT_BRANCH=pay"),
        GITLAB_RUN | pairs("Branch=pay"),
        "main",
    ),
    Case("gitlab tag", GITLAB | pairs("CI_COMMIT_TAG=v1 CI_COMMIT_REF_NAME=v1"), GITLAB_RUN, "main"),
]
JENKINS = pairs(
    "JENKINS_URL=https://jenkins.example.com/ "
    "BUILD_URL=https://jenkins.example.com/job/app/8/ BUILD_TAG=jenkins-app-8 "
    f"GIT_COMMIT={SHA} GIT_URL=https://git.example.com/team/app.git"
)
JENKINS_RUN = pairs(
    f"System=jenkins Commit-SHA={SHA} Run-URL={JENKINS['BUILD_URL']} Run-ID=jenkins-app-8 Repository=team/app"
)
JENKINS_CHANGE = JENKINS | pairs("BRANCH_NAME=PR-12 GIT_BRANCH=PR-12 CHANGE_ID=12 CHANGE_BRANCH=pay CHANGE_TARGET=main")
JENKINS_CASES = [
    Case("jenkins job", JENKINS | pairs("GIT_BRANCH=origin/feature/a"), JENKINS_RUN | pairs("Branch=feature/a")),
    Case(
        "jenkins job with a full ref", JENKINS | pairs("GIT_BRANCH=refs/heads/main"), JENKINS_RUN | pairs("Branch=main")
    ),
    Case("jenkins job on a commit", JENKINS | pairs("GIT_BRANCH=detached"), JENKINS_RUN),
    Case("jenkins multibranch", JENKINS | pairs("BRANCH_NAME=main"), JENKINS_RUN | pairs("Branch=main")),
    Case("jenkins change", JENKINS_CHANGE, JENKINS_RUN | pairs("Branch=pay PR-Number=12"), "main"),
    Case(
        "jenkins change of a fork",
        JENKINS_CHANGE | pairs("CHANGE_FORK=ada/app CHANGE_BRANCH=main"),
        JENKINS_RUN | pairs("Branch=ada:main PR-Number=12"),
        "main",
    ),
    Case("jenkins tag", JENKINS | pairs("BRANCH_NAME=v1 TAG_NAME=v1"), JENKINS_RUN),
    Case(
        "jenkins remote of another name",
        JENKINS | pairs("GIT_BRANCH=upstream/main"),
        JENKINS_RUN | pairs("Branch=main"),
    ),
    Case(
        "jenkins remote and slash",
        JENKINS | pairs("GIT_BRANCH=company/fix/login"),
        JENKINS_RUN | pairs("Branch=fix/login"),
    ),
    Case(
        "jenkins remote in a full ref",
        JENKINS | pairs("GIT_BRANCH=refs/remotes/upstream/fix/login"),
        JENKINS_RUN | pairs("Branch=fix/login"),
    ),
    Case(
        "jenkins multibranch with a slash",
        JENKINS | pairs("BRANCH_NAME=fix/login GIT_BRANCH=fix/login"),
        JENKINS_RUN | pairs("Branch=fix/login"),
    ),
    Case(
        "jenkins multibranch in a container that has not all variables",
        JENKINS | pairs("GIT_BRANCH=fix/login JOB_NAME=team/app/fix%2Flogin"),
        JENKINS_RUN | pairs("Branch=fix/login"),
    ),
    Case(
        "jenkins branch of a parameter",
        {**JENKINS, "GIT_URL": ""} | pairs("GIT_BRANCH=fix/login"),
        {name: value for name, value in JENKINS_RUN.items() if name != "Repository"} | pairs("Branch=fix/login"),
    ),
    Case(
        "jenkins with several repositories",
        {**JENKINS, "GIT_URL": ""} | pairs("GIT_URL_1=git@hub:team/app GIT_URL_2=git@hub:ada/app GIT_BRANCH=ada/main"),
        JENKINS_RUN,
    ),
    Case(
        "jenkins with several repositories, from origin",
        {**JENKINS, "GIT_URL": ""}
        | pairs("GIT_URL_1=git@hub:team/app GIT_URL_2=git@hub:ada/app GIT_BRANCH=origin/main"),
        JENKINS_RUN | pairs("Branch=main"),
    ),
    Case(
        "jenkins with the GitHub integration plugin",
        JENKINS
        | pairs("GIT_BRANCH=origin/main GITHUB_PR_NUMBER=12 GITHUB_PR_SOURCE_BRANCH=pay")
        | pairs(f"GITHUB_PR_TARGET_BRANCH=main GITHUB_PR_HEAD_SHA={SHA}"),
        JENKINS_RUN | pairs("Branch=pay PR-Number=12"),
        "main",
    ),
    Case(
        "jenkins with the Bitbucket plugin",
        JENKINS
        | pairs("GIT_BRANCH=origin/main BITBUCKET_PULL_REQUEST_ID=12 BITBUCKET_SOURCE_BRANCH=pay")
        | pairs("BITBUCKET_TARGET_BRANCH=main"),
        JENKINS_RUN | pairs("Branch=pay PR-Number=12"),
        "main",
    ),
    Case("jenkins merge ref", JENKINS | pairs("GIT_BRANCH=origin/pr/12/merge"), JENKINS_RUN | pairs("PR-Number=12")),
    Case(
        "jenkins ref of a change",
        JENKINS | pairs("GIT_BRANCH=refs/changes/45/12345/2"),
        JENKINS_RUN | pairs("PR-Number=12345"),
    ),
    Case("jenkins merge strategy", JENKINS | pairs("BRANCH_NAME=PR-12-merge"), JENKINS_RUN | pairs("PR-Number=12")),
    Case(
        "jenkins change of a fork, whose branch is called as the target",
        JENKINS_CHANGE | pairs("CHANGE_BRANCH=main"),
        JENKINS_RUN | pairs("Branch=fork:main PR-Number=12"),
        "main",
    ),
    Case(
        "jenkins with the pull request builder",
        JENKINS
        | pairs(f"GIT_COMMIT={MERGE} GIT_BRANCH=detached ghprbPullId=12 ghprbSourceBranch=main ghprbTargetBranch=main")
        | pairs(f"ghprbActualCommit={SHA} ghprbAuthorRepoGitUrl=https://github.com/ada/app.git"),
        JENKINS_RUN | pairs("Branch=ada:main PR-Number=12"),
        "main",
    ),
    Case(
        "jenkins with the gitlab plugin",
        JENKINS
        | pairs("GIT_BRANCH=origin/pay gitlabMergeRequestIid=3 gitlabSourceBranch=pay gitlabTargetBranch=main")
        | pairs(f"gitlabMergeRequestLastCommit={SHA}"),
        JENKINS_RUN | pairs("Branch=pay PR-Number=3"),
        "main",
    ),
    Case(
        "jenkins with gerrit, after the merge",
        JENKINS | pairs("GERRIT_EVENT_TYPE=change-merged GERRIT_BRANCH=main GERRIT_CHANGE_NUMBER=45"),
        JENKINS_RUN | pairs("Branch=main"),
    ),
    Case(
        "jenkins with gerrit",
        JENKINS | pairs(f"GIT_BRANCH=main GERRIT_BRANCH=main GERRIT_CHANGE_NUMBER=45 GERRIT_PATCHSET_REVISION={SHA}"),
        JENKINS_RUN | pairs("PR-Number=45"),
        "main",
    ),
]
CIRCLECI = pairs(
    f"CI=true CIRCLECI=true CIRCLE_SHA1={SHA} "
    "CIRCLE_BUILD_URL=https://circleci.com/gh/team/app/9 CIRCLE_WORKFLOW_ID=w-1 "
    "CIRCLE_PROJECT_USERNAME=team CIRCLE_PROJECT_REPONAME=app"
)
CIRCLECI_RUN = pairs(
    f"System=circleci Commit-SHA={SHA} Run-URL={CIRCLECI['CIRCLE_BUILD_URL']} Run-ID=w-1 Repository=team/app"
)
CIRCLECI_CASES = [
    Case("circleci branch", CIRCLECI | pairs("CIRCLE_BRANCH=main"), CIRCLECI_RUN | pairs("Branch=main")),
    Case(
        "circleci pull request",
        CIRCLECI | pairs("CIRCLE_BRANCH=pay CIRCLE_PULL_REQUEST=https://github.com/team/app/pull/12"),
        CIRCLECI_RUN | pairs("Branch=pay PR-Number=12"),
    ),
    Case(
        "circleci pull request from a fork",
        CIRCLECI | pairs("CIRCLE_BRANCH=pull/12 CIRCLE_PR_NUMBER=12"),
        CIRCLECI_RUN | pairs("Branch=pull/12 PR-Number=12"),
    ),
    Case(
        "circleci on gitlab, without the project's names",
        {name: CIRCLECI[name] for name in ("CIRCLECI", "CIRCLE_SHA1")}
        | pairs("CIRCLE_BRANCH=main CIRCLE_REPOSITORY_URL=git@gitlab.com:team/app.git CIRCLE_BUILD_NUM=9"),
        pairs(f"System=circleci Commit-SHA={SHA} Branch=main Repository=team/app Run-ID=9"),
    ),
    Case("circleci tag", CIRCLECI | pairs("CIRCLE_TAG=v1"), CIRCLECI_RUN),
]
BUILDKITE = pairs(
    f"CI=true BUILDKITE=true BUILDKITE_COMMIT={SHA} BUILDKITE_BRANCH=main "
    "BUILDKITE_BUILD_ID=b-1 BUILDKITE_BUILD_URL=https://buildkite.com/team/app/builds/4 "
    "BUILDKITE_PIPELINE_DEFAULT_BRANCH=main BUILDKITE_PULL_REQUEST=false "
    "BUILDKITE_REPO=git@github.com:team/app.git BUILDKITE_TAG="
)
BUILDKITE_RUN = pairs(
    f"System=buildkite Commit-SHA={SHA} Run-URL={BUILDKITE['BUILDKITE_BUILD_URL']} Run-ID=b-1 Repository=team/app"
)
BUILDKITE_PULL = BUILDKITE | pairs(
    "BUILDKITE_BRANCH=pay BUILDKITE_PULL_REQUEST=12 "
    "BUILDKITE_PULL_REQUEST_BASE_BRANCH=release "
    "BUILDKITE_PULL_REQUEST_REPO=https://github.com/team/app.git"
)
BUILDKITE_CASES = [
    Case("buildkite branch", BUILDKITE, BUILDKITE_RUN | pairs("Branch=main"), "main"),
    Case("buildkite pull request", BUILDKITE_PULL, BUILDKITE_RUN | pairs("Branch=pay PR-Number=12"), "release"),
    Case(
        "buildkite pull request from a fork",
        BUILDKITE_PULL | pairs("BUILDKITE_PULL_REQUEST_REPO=https://github.com/ada/app.git"),
        BUILDKITE_RUN | pairs("Branch=ada:pay PR-Number=12"),
        "release",
    ),
    Case(
        "buildkite fork with a prefixed branch",
        BUILDKITE_PULL | pairs("BUILDKITE_BRANCH=ada:pay BUILDKITE_PULL_REQUEST_REPO=https://github.com/ada/app.git"),
        BUILDKITE_RUN | pairs("Branch=ada:pay PR-Number=12"),
        "release",
    ),
    Case(
        "buildkite commit that is not resolved",
        BUILDKITE | pairs("BUILDKITE_COMMIT=HEAD"),
        {name: value for name, value in BUILDKITE_RUN.items() if name != "Commit-SHA"} | pairs("Branch=main"),
        "main",
    ),
    Case("buildkite tag", BUILDKITE | pairs("BUILDKITE_TAG=v1 BUILDKITE_BRANCH=v1"), BUILDKITE_RUN, "main"),
]
BITRISE = pairs(
    "CI=true BITRISE_IO=true BITRISE_BUILD_SLUG=s-1 "
    "BITRISE_BUILD_URL=https://app.bitrise.io/build/s-1 BITRISE_GIT_BRANCH=main "
    f"BITRISE_GIT_COMMIT={SHA} BITRISEIO_GIT_REPOSITORY_OWNER=team "
    "BITRISEIO_GIT_REPOSITORY_SLUG=app GIT_REPOSITORY_URL=git@github.com:team/app.git"
)
BITRISE_RUN = pairs(
    f"System=bitrise Commit-SHA={SHA} Run-URL={BITRISE['BITRISE_BUILD_URL']} Run-ID=s-1 Repository=team/app"
)
BITRISE_PULL = BITRISE | pairs(
    "BITRISE_GIT_BRANCH=pay BITRISE_PULL_REQUEST=12 BITRISEIO_GIT_BRANCH_DEST=main "
    "BITRISEIO_PULL_REQUEST_REPOSITORY_URL=https://github.com/team/app.git"
)
BITRISE_CASES = [
    Case("bitrise branch", BITRISE, BITRISE_RUN | pairs("Branch=main")),
    Case("bitrise pull request", BITRISE_PULL, BITRISE_RUN | pairs("Branch=pay PR-Number=12"), "main"),
    Case(
        "bitrise pull request from a fork",
        BITRISE_PULL | pairs("BITRISEIO_PULL_REQUEST_REPOSITORY_URL=https://github.com/ada/app.git"),
        BITRISE_RUN | pairs("Branch=ada:pay PR-Number=12"),
        "main",
    ),
    Case(
        "bitrise build started by hand",
        BITRISE | pairs(f"BITRISE_GIT_COMMIT= GIT_CLONE_COMMIT_HASH={SHA} BITRISE_PULL_REQUEST="),
        BITRISE_RUN | pairs("Branch=main"),
    ),
    Case("bitrise tag", BITRISE | pairs("BITRISE_GIT_TAG=v1"), BITRISE_RUN),
]
AZURE = {
    "TF_BUILD": "True",
    "BUILD_BUILDID": "31",
    "BUILD_REPOSITORY_NAME": "team/app",
    "BUILD_SOURCEBRANCH": "refs/heads/feature/a",
    "BUILD_SOURCEVERSION": SHA,
    "SYSTEM_COLLECTIONURI": "https://dev.azure.com/team/",
    "SYSTEM_TEAMPROJECT": "Mobile apps",
}
AZURE_RUN = pairs(
    f"System=azure-pipelines Commit-SHA={SHA} "
    "Run-URL=https://dev.azure.com/team/Mobile%20apps/_build/results?buildId=31 Run-ID=31 "
    "Repository=team/app"
)
AZURE_PULL = AZURE | pairs(
    f"BUILD_SOURCEBRANCH=refs/pull/12/merge BUILD_SOURCEVERSION={MERGE} "
    "SYSTEM_PULLREQUEST_ISFORK=False SYSTEM_PULLREQUEST_PULLREQUESTID=293753840 "
    "SYSTEM_PULLREQUEST_PULLREQUESTNUMBER=12 SYSTEM_PULLREQUEST_SOURCEBRANCH=pay "
    f"SYSTEM_PULLREQUEST_SOURCECOMMITID={SHA} SYSTEM_PULLREQUEST_TARGETBRANCH=main"
)
AZURE_CASES = [
    Case("azure branch", AZURE, AZURE_RUN | pairs("Branch=feature/a")),
    Case("azure pull request on github", AZURE_PULL, AZURE_RUN | pairs("Branch=pay PR-Number=12"), "main"),
    Case(
        "azure pull request on azure repos",
        {name: value for name, value in AZURE_PULL.items() if name != "SYSTEM_PULLREQUEST_PULLREQUESTNUMBER"}
        | pairs(
            "SYSTEM_PULLREQUEST_PULLREQUESTID=12 "
            "SYSTEM_PULLREQUEST_SOURCEBRANCH=refs/heads/users/ada/pay "
            "SYSTEM_PULLREQUEST_TARGETBRANCH=refs/heads/main"
        ),
        AZURE_RUN | pairs("Branch=users/ada/pay PR-Number=12"),
        "main",
    ),
    Case(
        "azure pull request from a fork",
        AZURE_PULL
        | pairs("SYSTEM_PULLREQUEST_ISFORK=True SYSTEM_PULLREQUEST_SOURCEREPOSITORYURI=https://github.com/ada/app"),
        AZURE_RUN | pairs("Branch=ada:pay PR-Number=12"),
        "main",
    ),
    Case(
        "azure pull request that was queued by hand",
        AZURE | pairs("BUILD_SOURCEBRANCH=refs/pull/12/merge"),
        AZURE_RUN | pairs("PR-Number=12"),
    ),
    Case(
        "azure pipeline that another one triggered",
        AZURE
        | pairs("BUILD_REASON=ResourceTrigger BUILD_SOURCEBRANCH=refs/heads/main RESOURCES_TRIGGERINGALIAS=app.ci")
        | pairs(f"RESOURCES_PIPELINE_APP_CI_SOURCEBRANCH=refs/heads/pay RESOURCES_PIPELINE_APP_CI_SOURCECOMMIT={SHA}"),
        AZURE_RUN | pairs(f"Branch=pay Commit-SHA={SHA}"),
    ),
    Case("azure tag", AZURE | pairs("BUILD_SOURCEBRANCH=refs/tags/v1"), AZURE_RUN),
]
BITBUCKET = pairs(f"CI=true BITBUCKET_BUILD_NUMBER=6 BITBUCKET_COMMIT={SHA} BITBUCKET_REPO_FULL_NAME=team/app")
BITBUCKET_RUN = pairs(
    f"System=bitbucket Commit-SHA={SHA} "
    "Run-URL=https://bitbucket.org/team/app/pipelines/results/6 Run-ID=6 "
    "Repository=team/app"
)
CODEMAGIC = pairs(
    f"CI=true CM_BUILD_ID=b-2 CM_PROJECT_ID=p-2 CM_BRANCH=pay CM_COMMIT={SHA} "
    "CM_PULL_REQUEST=false CM_REPO_SLUG=team/app"
)
CODEMAGIC_RUN = pairs(
    f"System=codemagic Commit-SHA={SHA} Run-URL=https://codemagic.io/app/p-2/build/b-2 Run-ID=b-2 Repository=team/app"
)
XCODE = pairs(
    "CI=TRUE CI_XCODE_CLOUD=TRUE CI_BUILD_ID=x-1 "
    "CI_BUILD_URL=https://appstoreconnect.apple.com/teams/t/apps/a/ci/builds/x-1 "
    f"CI_COMMIT={SHA}"
)
XCODE_RUN = pairs(f"System=xcode-cloud Commit-SHA={SHA} Run-URL={XCODE['CI_BUILD_URL']} Run-ID=x-1")
XCODE_PULL = XCODE | pairs(
    "CI_PULL_REQUEST_NUMBER=12 CI_PULL_REQUEST_SOURCE_BRANCH=pay "
    f"CI_PULL_REQUEST_SOURCE_COMMIT={SHA} CI_PULL_REQUEST_SOURCE_REPO=team/app "
    "CI_PULL_REQUEST_TARGET_BRANCH=main CI_PULL_REQUEST_TARGET_REPO=team/app"
)
OTHER_CASES = [
    Case("bitbucket branch", BITBUCKET | pairs("BITBUCKET_BRANCH=main"), BITBUCKET_RUN | pairs("Branch=main")),
    Case(
        "bitbucket pull request",
        BITBUCKET | pairs("BITBUCKET_BRANCH=pay BITBUCKET_PR_ID=12 BITBUCKET_PR_DESTINATION_BRANCH=main"),
        BITBUCKET_RUN | pairs("Branch=pay PR-Number=12"),
        "main",
    ),
    Case("bitbucket tag", BITBUCKET | pairs("BITBUCKET_TAG=v1"), BITBUCKET_RUN),
    Case("codemagic branch", CODEMAGIC, CODEMAGIC_RUN | pairs("Branch=pay")),
    Case(
        "codemagic pull request",
        CODEMAGIC | pairs("CM_PULL_REQUEST=true CM_PULL_REQUEST_NUMBER=12 CM_PULL_REQUEST_DEST=main"),
        CODEMAGIC_RUN | pairs("Branch=pay PR-Number=12"),
        "main",
    ),
    Case("codemagic tag", CODEMAGIC | pairs("CM_TAG=v1 CM_BRANCH=main"), CODEMAGIC_RUN),
    Case("xcode cloud branch", XCODE | pairs("CI_BRANCH=main"), XCODE_RUN | pairs("Branch=main")),
    Case(
        "xcode cloud pull request", XCODE_PULL, XCODE_RUN | pairs("Branch=pay PR-Number=12 Repository=team/app"), "main"
    ),
    Case(
        "xcode cloud pull request from a fork",
        XCODE_PULL | pairs("CI_PULL_REQUEST_SOURCE_REPO=ada/app"),
        XCODE_RUN | pairs("Branch=ada:pay PR-Number=12 Repository=team/app"),
        "main",
    ),
    Case("xcode cloud tag", XCODE | pairs("CI_TAG=v1"), XCODE_RUN),
    Case("an unknown system with its name", pairs("CI=concourse"), pairs("System=ci")),
    Case("an unknown system with a number", pairs("BUILD_NUMBER=7"), pairs("System=ci")),
    Case("an unknown system", pairs("CI=true BRANCH_NAME=main BUILD_URL=https://x"), pairs("System=ci")),
    Case("no CI", pairs("HOME=/home/ada"), {}),
    Case("CI switched off", pairs("CI=false"), {}),
    Case("CI switched off by a number", pairs("CI=0"), {}),
]


def row(name: str, environ: str, headers: str, base: str | None = None) -> Case:
    """A case of one line: SHA and MERGE are commits, and the first word of the name is the system."""
    shas = {"SHA": SHA, "MERGE": MERGE}
    known = {key: shas.get(value, value) for key, value in pairs(environ).items()}
    return Case(name, known, {"System": name.partition(" ")[0]} | pairs(headers.replace("=SHA", f"={SHA}")), base)


DRONE = "CI=true DRONE=true DRONE_REPO=team/app DRONE_COMMIT_SHA=SHA DRONE_BUILD_NUMBER=5 DRONE_BRANCH=main "
DRONE_RUN = "Commit-SHA=SHA Run-ID=5 Repository=team/app "
WOODPECKER = "CI=woodpecker CI_REPO=team/app CI_COMMIT_SHA=SHA CI_COMMIT_BRANCH=main CI_REPO_DEFAULT_BRANCH=main "
SEMAPHORE = "CI=true SEMAPHORE=true SEMAPHORE_GIT_REPO_SLUG=team/app SEMAPHORE_GIT_SHA=SHA SEMAPHORE_GIT_BRANCH=main "
TRAVIS = "CI=true TRAVIS=true TRAVIS_REPO_SLUG=team/app TRAVIS_COMMIT=SHA TRAVIS_BRANCH=main TRAVIS_PULL_REQUEST=false "
APPVEYOR = "CI=True APPVEYOR=True APPVEYOR_REPO_NAME=team/app APPVEYOR_REPO_COMMIT=SHA APPVEYOR_REPO_BRANCH=main "
CODEBUILD = (
    "CODEBUILD_BUILD_ID=app:1 CODEBUILD_SOURCE_REPO_URL=https://h/team/app.git CODEBUILD_RESOLVED_SOURCE_VERSION=SHA "
)
CODEBUILD_RUN = "Commit-SHA=SHA Run-ID=app:1 Repository=team/app "
APPCIRCLE = "AC_APPCIRCLE=true AC_GIT_COMMIT=SHA AC_GIT_BRANCH=pay "
COMMIT = "Commit-SHA=SHA Repository=team/app "
PROW = "CI=true PROW_JOB_ID=p REPO_OWNER=team REPO_NAME=app PULL_BASE_REF=main PULL_BASE_SHA=SHA BUILD_ID=5 "

TABLE_CASES = [
    row("drone push", DRONE + "DRONE_TARGET_BRANCH=main", DRONE_RUN + "Branch=main"),
    row("drone tag", DRONE + "DRONE_TAG=v1", DRONE_RUN),
    row("drone pull", DRONE + "DRONE_PULL_REQUEST=7 DRONE_SOURCE_BRANCH=a", DRONE_RUN + "Branch=a PR-Number=7", "main"),
    row(
        "drone pull from a fork",
        DRONE + "DRONE_PULL_REQUEST=7 DRONE_SOURCE_BRANCH=main",
        DRONE_RUN + "Branch=fork:main PR-Number=7",
        "main",
    ),
    row(
        "drone pull from main of a fork, to another branch",
        DRONE + "DRONE_PULL_REQUEST=7 DRONE_SOURCE_BRANCH=main DRONE_TARGET_BRANCH=release DRONE_REPO_BRANCH=main",
        DRONE_RUN + "Branch=fork:main PR-Number=7",
        "release",
    ),
    row(
        "drone promotes a pull",
        DRONE + "DRONE_BUILD_EVENT=promote DRONE_COMMIT_REF=refs/pull/7/head",
        DRONE_RUN + "PR-Number=7",
        "main",
    ),
    row("drone pull without its branch", DRONE + "DRONE_PULL_REQUEST=7", DRONE_RUN + "PR-Number=7", "main"),
    row(
        "harness pull",
        DRONE + "HARNESS_BUILD_ID=5 DRONE_PULL_REQUEST=7 DRONE_SOURCE_BRANCH=a",
        DRONE_RUN + "Branch=a PR-Number=7",
        "main",
    ),
    row("woodpecker push", WOODPECKER, COMMIT + "Branch=main", "main"),
    row("woodpecker tag", WOODPECKER + "CI_COMMIT_TAG=v1", COMMIT, "main"),
    row(
        "woodpecker pull",
        WOODPECKER + "CI_COMMIT_PULL_REQUEST=7 CI_COMMIT_SOURCE_BRANCH=a CI_COMMIT_TARGET_BRANCH=release",
        COMMIT + "Branch=a PR-Number=7",
        "release",
    ),
    row("woodpecker deploys a pull", WOODPECKER + "CI_COMMIT_REF=refs/pull/7/head", COMMIT + "PR-Number=7", "main"),
    row("semaphore push", SEMAPHORE + "SEMAPHORE_GIT_WORKING_BRANCH=main", COMMIT + "Branch=main"),
    row("semaphore tag", SEMAPHORE + "SEMAPHORE_GIT_TAG_NAME=v1", COMMIT),
    row(
        "semaphore pull from a fork",
        SEMAPHORE + "SEMAPHORE_GIT_SHA=MERGE SEMAPHORE_GIT_PR_SHA=SHA SEMAPHORE_GIT_PR_NUMBER=7 "
        "SEMAPHORE_GIT_PR_BRANCH=main SEMAPHORE_GIT_PR_SLUG=ada/app",
        COMMIT + "Branch=ada:main PR-Number=7",
        "main",
    ),
    row("travis push", TRAVIS, COMMIT + "Branch=main"),
    row("travis tag", TRAVIS + "TRAVIS_TAG=v1 TRAVIS_BRANCH=v1", COMMIT),
    row(
        "travis pull from a fork",
        TRAVIS + "TRAVIS_COMMIT=MERGE TRAVIS_PULL_REQUEST=7 TRAVIS_PULL_REQUEST_SHA=SHA "
        "TRAVIS_PULL_REQUEST_BRANCH=main TRAVIS_PULL_REQUEST_SLUG=ada/app",
        COMMIT + "Branch=ada:main PR-Number=7",
        "main",
    ),
    row("appveyor push", APPVEYOR, COMMIT + "Branch=main"),
    row("appveyor tag", APPVEYOR + "APPVEYOR_REPO_TAG=true APPVEYOR_REPO_TAG_NAME=v1", COMMIT),
    row(
        "appveyor pull",
        APPVEYOR + "APPVEYOR_PULL_REQUEST_NUMBER=7 APPVEYOR_PULL_REQUEST_HEAD_COMMIT=SHA APPVEYOR_REPO_COMMIT=MERGE "
        "APPVEYOR_PULL_REQUEST_HEAD_REPO_BRANCH=pay APPVEYOR_PULL_REQUEST_HEAD_REPO_NAME=team/app",
        COMMIT + "Branch=pay PR-Number=7",
        "main",
    ),
    row("codebuild push", CODEBUILD + "CODEBUILD_WEBHOOK_HEAD_REF=refs/heads/a/b", CODEBUILD_RUN + "Branch=a/b"),
    row("codebuild tag", CODEBUILD + "CODEBUILD_WEBHOOK_HEAD_REF=refs/tags/v1", CODEBUILD_RUN),
    row("codebuild started by hand", CODEBUILD + "CODEBUILD_SOURCE_VERSION=pay", CODEBUILD_RUN + "Branch=pay"),
    row("codebuild of a commit", CODEBUILD + "CODEBUILD_SOURCE_VERSION=SHA", CODEBUILD_RUN),
    row("codebuild of a short commit", CODEBUILD + f"CODEBUILD_SOURCE_VERSION={SHA[:8]}", CODEBUILD_RUN),
    row("codebuild of an archive", CODEBUILD + "CODEBUILD_SOURCE_VERSION=arn:aws:s3:::b/app.zip", CODEBUILD_RUN),
    row("codebuild of a pull by hand", CODEBUILD + "CODEBUILD_SOURCE_VERSION=pr/7", CODEBUILD_RUN + "PR-Number=7"),
    row(
        "codebuild pull",
        CODEBUILD + "CODEBUILD_WEBHOOK_TRIGGER=pr/7 CODEBUILD_WEBHOOK_HEAD_REF=refs/heads/pay "
        "CODEBUILD_WEBHOOK_BASE_REF=refs/heads/main CODEBUILD_SOURCE_VERSION=pr/7",
        CODEBUILD_RUN + "Branch=pay PR-Number=7",
        "main",
    ),
    row("appcircle push", APPCIRCLE, "Commit-SHA=SHA Branch=pay"),
    row(
        "appcircle pull",
        APPCIRCLE + "AC_GIT_PR=true AC_PULL_NUMBER=7 AC_GIT_TARGET_BRANCH=main",
        "Commit-SHA=SHA Branch=pay PR-Number=7",
        "main",
    ),
    row("eas", "CI=1 EAS_BUILD=true EAS_BUILD_ID=e EAS_BUILD_GIT_COMMIT_HASH=SHA", "Commit-SHA=SHA Run-ID=e"),
    row("appflow", "CI_APP_ID=a CI_GIT_REF=main CI_GIT_COMMIT_SHA=SHA", "Commit-SHA=SHA Branch=main"),
    row(
        "cirrus pull",
        "CI=true CIRRUS_CI=true CIRRUS_CHANGE_IN_REPO=SHA CIRRUS_BRANCH=pull/7 CIRRUS_PR=7 CIRRUS_BASE_BRANCH=main",
        "Commit-SHA=SHA Branch=pull/7 PR-Number=7",
        "main",
    ),
    row(
        "codefresh pull from a fork",
        "CF_BUILD_ID=5 CF_REVISION=SHA CF_BRANCH=main CF_PULL_REQUEST_NUMBER=7 CF_PULL_REQUEST_TARGET=dev "
        "CF_PULL_REQUEST_IS_FORK=true CF_REPO_OWNER=team CF_REPO_NAME=app",
        COMMIT + "Run-ID=5 Branch=fork:main PR-Number=7",
        "dev",
    ),
    row(
        "bamboo pull",
        "bamboo_buildKey=A-B bamboo_planRepository_revision=SHA bamboo_planRepository_branchName=pay "
        "bamboo_repository_pr_key=7 bamboo_repository_pr_sourceBranch=pay bamboo_repository_pr_targetBranch=main",
        "Commit-SHA=SHA Branch=pay PR-Number=7",
        "main",
    ),
    row("bamboo plan", "bamboo_buildKey=A bamboo_planRepository_branchName=main", "Branch=main"),
    row(
        "buddy pull",
        "BUDDY_WORKSPACE_ID=1 BUDDY_EXECUTION_REVISION=SHA BUDDY_EXECUTION_PULL_REQUEST_ID=pull/7 "
        "BUDDY_EXECUTION_PULL_REQUEST_HEAD_BRANCH=pay BUDDY_EXECUTION_PULL_REQUEST_BASE_BRANCH=main",
        "Commit-SHA=SHA Branch=pay PR-Number=7",
        "main",
    ),
    row(
        "vela pull",
        "VELA=true VELA_BUILD_COMMIT=SHA VELA_BUILD_BRANCH=main VELA_PULL_REQUEST=7 VELA_PULL_REQUEST_SOURCE=pay",
        "Commit-SHA=SHA Branch=pay PR-Number=7",
        "main",
    ),
    row("screwdriver push", "SCREWDRIVER=true SD_BUILD_SHA=SHA GIT_BRANCH=origin/main", "Commit-SHA=SHA Branch=main"),
    row(
        "screwdriver pull",
        "SCREWDRIVER=true SD_BUILD_SHA=SHA GIT_BRANCH=origin/refs/pull/7/merge SD_PULL_REQUEST=7 "
        "PR_BRANCH_NAME=upstream/pay PR_BASE_BRANCH_NAME=main",
        "Commit-SHA=SHA Branch=pay PR-Number=7",
        "main",
    ),
    row(
        "jetbrains-space",
        "JB_SPACE_EXECUTION_NUMBER=5 JB_SPACE_GIT_REVISION=SHA JB_SPACE_GIT_BRANCH=refs/heads/pay",
        "Commit-SHA=SHA Branch=pay Run-ID=5",
    ),
    row(
        "gocd",
        "GO_SERVER_URL=https://go GO_PIPELINE_NAME=p GO_PIPELINE_COUNTER=3 GO_REVISION=SHA",
        "Commit-SHA=SHA Run-ID=p/3",
    ),
    row("prow push", PROW, COMMIT + "Branch=main Run-ID=5"),
    row(
        "prow pull",
        PROW + "PULL_NUMBER=7 PULL_PULL_SHA=SHA PULL_BASE_SHA=MERGE PULL_HEAD_REF=pay PULL_REFS=main:1,7:2",
        COMMIT + "Branch=pay PR-Number=7 Run-ID=5",
        "main",
    ),
    row("prow batch", PROW + "PULL_REFS=main:1,7:2,8:3", "Repository=team/app Run-ID=5"),
    row("agola", "CI=true AGOLA_GIT_REF=refs/heads/pay AGOLA_GIT_COMMITSHA=SHA", "Commit-SHA=SHA Branch=pay"),
    row("agola pull", "AGOLA_GIT_REF=refs/pull/7/head AGOLA_GIT_COMMITSHA=SHA", "Commit-SHA=SHA PR-Number=7"),
    row("sourcehut", "CI_NAME=sourcehut GIT_REF=refs/heads/pay JOB_ID=5", "Branch=pay Run-ID=5"),
    row("codeship", "CI_NAME=codeship CI_COMMIT_ID=SHA CI_BRANCH=pay", "Commit-SHA=SHA Branch=pay"),
    row(
        "netlify",
        "NETLIFY=true COMMIT_REF=SHA BRANCH=pull/7/head HEAD=pay REVIEW_ID=7",
        "Commit-SHA=SHA Branch=pay PR-Number=7",
    ),
    row("vercel", "VERCEL=1 VERCEL_GIT_COMMIT_SHA=SHA VERCEL_GIT_COMMIT_REF=pay", "Commit-SHA=SHA Branch=pay"),
    row("cloudflare", "CF_PAGES=1 CF_PAGES_COMMIT_SHA=SHA CF_PAGES_BRANCH=pay", "Commit-SHA=SHA Branch=pay"),
    row("render", "RENDER=true RENDER_GIT_COMMIT=SHA RENDER_GIT_BRANCH=pay", "Commit-SHA=SHA Branch=pay"),
    row(
        "heroku",
        "HEROKU_TEST_RUN_ID=5 HEROKU_TEST_RUN_COMMIT_VERSION=SHA HEROKU_TEST_RUN_BRANCH=pay",
        "Commit-SHA=SHA Branch=pay Run-ID=5",
    ),
    row(
        "scrutinizer pull",
        "SCRUTINIZER=true SCRUTINIZER_SHA1=SHA SCRUTINIZER_BRANCH=main SCRUTINIZER_PR_NUMBER=7 "
        "SCRUTINIZER_PR_SOURCE_BRANCH=pay",
        "Commit-SHA=SHA Branch=pay PR-Number=7",
        "main",
    ),
    row(
        "sail pull",
        "SAILCI=true SAIL_COMMIT_SHA=SHA SAIL_COMMIT_BRANCH=main SAIL_PULL_REQUEST_NUMBER=7",
        "Commit-SHA=SHA PR-Number=7",
    ),
    row("puppet", "DISTELLI_APPNAME=a DISTELLI_RELREVISION=SHA DISTELLI_RELBRANCH=pay", "Commit-SHA=SHA Branch=pay"),
    row("wercker", "WERCKER=true WERCKER_GIT_COMMIT=SHA WERCKER_GIT_BRANCH=pay", "Commit-SHA=SHA Branch=pay"),
    row(
        "shippable pull",
        "SHIPPABLE=true COMMIT=SHA BRANCH=main PULL_REQUEST=7 HEAD_BRANCH=pay BASE_BRANCH=main",
        "Commit-SHA=SHA Branch=pay PR-Number=7",
        "main",
    ),
    row("shippable push", "SHIPPABLE=true COMMIT=SHA BRANCH=main PULL_REQUEST=false", "Commit-SHA=SHA Branch=main"),
    row(
        "amplify pull",
        "AWS_APP_ID=a AWS_JOB_ID=5 AWS_COMMIT_ID=SHA AWS_BRANCH=pr-7 AWS_PULL_REQUEST_ID=7 "
        "AWS_PULL_REQUEST_SOURCE_BRANCH=pay AWS_PULL_REQUEST_DESTINATION_BRANCH=main",
        "Commit-SHA=SHA Branch=pay PR-Number=7 Run-ID=5",
        "main",
    ),
    row(
        "cloud-build pull",
        "PROJECT_ID=p BUILD_ID=5 COMMIT_SHA=SHA REPO_FULL_NAME=team/app "
        "_PR_NUMBER=7 _HEAD_BRANCH=pay _BASE_BRANCH=main",
        COMMIT + "Branch=pay PR-Number=7 Run-ID=5",
        "main",
    ),
    row(
        "app-center",
        "APPCENTER_BUILD_ID=5 TF_BUILD=True APPCENTER_BRANCH=pay BUILD_SOURCEVERSION=SHA",
        "Commit-SHA=SHA Branch=pay Run-ID=5",
    ),
]
CASES = [
    *GITHUB_CASES,
    *GITLAB_CASES,
    *JENKINS_CASES,
    *CIRCLECI_CASES,
    *BUILDKITE_CASES,
    *BITRISE_CASES,
    *AZURE_CASES,
    *OTHER_CASES,
    *TABLE_CASES,
]

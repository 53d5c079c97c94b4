"""Which CI system the command runs on."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mobiletest_cli.ci import systems
from mobiletest_cli.ci.attribution import Attribution
from mobiletest_cli.ci.environment import Environment
from mobiletest_cli.ci.github import github
from mobiletest_cli.ci.teamcity import teamcity

_SYSTEMS: dict[str, Callable[[Environment], Attribution]] = {
    "GITHUB_ACTIONS": github,
    "GITLAB_CI": systems.gitlab,
    "CIRCLECI": systems.circleci,
    "BUILDKITE": systems.buildkite,
    "BITRISE_IO": systems.bitrise,
    "TF_BUILD": systems.azure_pipelines,
    "BITBUCKET_BUILD_NUMBER": systems.bitbucket,
    "CM_BUILD_ID": systems.codemagic,
    "TEAMCITY_VERSION": teamcity,
    "CI_XCODE_CLOUD": systems.xcode_cloud,
    "JENKINS_URL": systems.jenkins,
}
"""By the variable that only this system sets. Jenkins is last: its agents may start builds of the others."""


def detect(environ: Mapping[str, str]) -> Attribution:
    """The attribution that the CI system's variables give; the system is "ci" for an unknown one that sets CI.

    It reads the files that GitHub and TeamCity name in variables, and nothing else. It raises nothing.
    """
    env = Environment(environ)
    for variable, read in _SYSTEMS.items():
        if env[variable] and (env[variable] or "").lower() != "false":
            return read(env)
    return Attribution(system="ci") if env.is_true("CI") else Attribution()

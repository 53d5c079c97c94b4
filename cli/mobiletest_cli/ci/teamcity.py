"""TeamCity, which names branches and pull requests only in a properties file of the build."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from mobiletest_cli.ci.attribution import Attribution, branch_name, read_number, repository_name
from mobiletest_cli.ci.environment import Environment

_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\(.)")
_WRITTEN = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_MAIN = "<default>"


def teamcity(env: Environment) -> Attribution:
    """TEAMCITY_BUILD_PROPERTIES_FILE names a second file, which has the configuration parameters."""
    build = _read_properties(env["TEAMCITY_BUILD_PROPERTIES_FILE"])
    known = _read_properties(build.get("teamcity.configuration.properties.file"))
    branch = known.get("teamcity.build.branch")
    number = read_number(known.get("teamcity.pullRequest.number"))
    base = branch_name(known.get("teamcity.pullRequest.target.branch"))
    commit, is_personal = env["BUILD_VCS_NUMBER"], env.is_true("BUILD_IS_PERSONAL")
    head = branch_name(known.get("teamcity.pullRequest.source.branch") or (None if branch == _MAIN else branch))
    is_fork = number is not None and head is not None and head == base  # nothing names the repository of the head
    return Attribution(
        system="teamcity",
        commit_sha=None if is_personal else commit,
        branch=None if is_personal else f"fork:{head}" if is_fork else head,
        pr_number=number,
        run_url=env["BUILD_URL"],
        run_id=known.get("teamcity.build.id") or env["BUILD_NUMBER"],
        repository=repository_name(known.get("vcsroot.url")),
        base_branch=base,
        trigger_sha=commit if is_personal else None,  # checked out, with changes that are not committed
    )


def _read_properties(path: str | None) -> dict[str, str]:
    """A properties file of Java, one `name=value` a line as TeamCity writes it; {} if it cannot be read."""
    try:
        text = Path(path).read_text("latin-1") if path else ""
    except (OSError, ValueError):
        return {}
    return dict(_pairs(text))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and not name.startswith("#"):
            yield _unescaped(name.strip()), _unescaped(value.strip())


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _WRITTEN.get(match[2], match[2]), text)

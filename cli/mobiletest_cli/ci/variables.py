"""Reads the variables of a CI system as its row of the table says, and those of TeamCity, which names branches and pull
requests only in a properties file of the build.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, unquote

from mobiletest_cli.ci.attribution import (
    Attribution,
    branch_name,
    change_number,
    head_branch,
    read_number,
    repository_name,
    tag_name,
)
from mobiletest_cli.ci.environment import Environment
from mobiletest_cli.ci.systems import System


def is_on(env: Environment, marker: str) -> bool:
    """Whether one of the markers is there."""
    return any(all(_is_set(env, part) for part in each.split("+")) for each in marker.split())


def read_system(system: System, env: Environment, remotes: Mapping[str, str]) -> Attribution:
    """What the variables say. `remotes` are those of the git checkout, addresses by names; empty if not known.

    A pipeline of GitLab that another project's started is on the default branch, whatever that project's was on.
    """
    if env["GERRIT_EVENT_TYPE"] == "change-merged":  # a build of the branch, whose change is over
        system = replace(system, number="", branch=f"{system.branch} GERRIT_BRANCH")
    if alias := env["RESOURCES_TRIGGERINGALIAS"]:  # Azure: the pipeline whose build is tested
        resource = f"RESOURCES_PIPELINE_{re.sub('[ .]', '_', alias).upper()}"
        row = replace(system, commit=f"{resource}_SOURCECOMMIT", branch=f"{resource}_SOURCEBRANCH", checkout="")
        return replace(_SystemRow(row, env, remotes).attribution(), trigger_sha=env["BUILD_SOURCEVERSION"])
    known = _SystemRow(system, env, remotes).attribution()
    if env["CI_PIPELINE_SOURCE"] == "pipeline" and known.branch in (None, known.base_branch):
        return replace(known, commit_sha=None, branch=None, trigger_sha=known.commit_sha)
    return replace(known, commit_sha=None, branch=None) if _is_batch(env) else known


@dataclass(frozen=True)
class _SystemRow:
    """A row of the table with the values of one environment."""

    system: System
    env: Environment
    remotes: Mapping[str, str]

    def attribution(self) -> Attribution:
        """What the values say."""
        ref, repository = self._first(self.system.branch), repository_name(self._first(self.system.repository))
        number = self._number(ref)
        is_change = number is not None
        tag = None if is_change else self._first(self.system.tag) or tag_name(ref)
        base = branch_name(self._first(self.system.base)) if is_change else None
        commit = self._commit()
        branch = self._head(repository, base) if is_change else None if tag else branch_name(ref)
        return Attribution(
            system=self.system.name,
            commit_sha=commit,
            branch=None if branch and len(branch) >= 7 and commit and commit.startswith(branch) else branch,
            pr_number=number,
            run_url=self._first(self.system.url, safe="/:@+%~"),
            run_id=self._first(self.system.run),
            repository=repository,
            base_branch=base or branch_name(self._first(self.system.default)),
            tag=tag,
            checkout_sha=self._first(self.system.checkout),
        )

    def _number(self, ref: str | None) -> int | None:
        texts = [self._value(name) for name in self.system.number.split()]
        numbers = (_read_change(text.partition(",")[0]) for text in texts if text)
        return next((number for number in numbers if number is not None), None) or change_number(ref)

    def _commit(self) -> str | None:
        commit = self._first(self.system.commit)
        return None if commit == "HEAD" else commit  # Buildkite, until the agent resolves it

    def _head(self, repository: str | None, base: str | None) -> str | None:
        """The branch of a pull request. One that is called as its target is in a fork, which may not be named.

        Where nothing tells forks, the default branch of one looks like that of the repository.
        """
        branch = branch_name(self._first(self.system.head))
        source, fork = self._first(self.system.source), self._first(self.system.fork)
        if not self.system.fork or (fork is None and source):
            branch = head_branch(branch, source=source, target=repository)
        elif branch and fork and fork.lower() not in ("false", "0"):
            name = repository_name(source) or ("" if fork.lower() in ("true", "1") else fork)
            branch = f"{name.rpartition('/')[0] or name or 'fork'}:{branch}"
        own = {base}
        if self.system.base and not (self.system.source or self.system.fork):
            own.add(branch_name(self._first(self.system.default)) or "main")
        return f"fork:{branch}" if branch and branch in own else branch

    def _first(self, names: str, *, safe: str | None = None) -> str | None:
        return next((value for name in names.split() if (value := self._value(name, safe))), None)

    def _value(self, name: str, safe: str | None = None) -> str | None:
        """The value; what a template is made of is quoted for a URL if `safe` has the characters to leave."""
        if name.startswith("@"):
            return _without_remote(self.env[name[1:]], self.env, self.remotes)
        if "{" not in name:
            return self.env[name]
        values = {key: (self.env[key] or "").rstrip("/") for key in re.findall(r"\{(\w+)\}", name, re.ASCII)}
        if not all(values.values()):
            return None
        return name.format(**values if safe is None else {key: quote(values[key], safe=safe) for key in values})


def _read_change(text: str) -> int | None:
    """The number of a pull request; of a ref, only one that is made for a pull request."""
    return change_number(text) if text.startswith("refs/") else read_number(text)


def _is_batch(env: Environment) -> bool:
    """Whether Prow merged several pull requests into the branch that it names; PULL_REFS is "main:sha,12:sha"."""
    return bool(env["PROW_JOB_ID"]) and "," in (env["PULL_REFS"] or "") and not env["PULL_NUMBER"]


def _is_set(env: Environment, marker: str) -> bool:
    name, has_value, value = marker.partition("=")
    text = (env[name] or "").lower()
    return text == value if has_value else text not in ("", "false", "0")


def _without_remote(ref: str | None, env: Environment, remotes: Mapping[str, str]) -> str | None:
    """The branch of "<remote>/<branch>"; None if it cannot be told from a branch with a slash, or is a fork's.

    Jenkins writes it so where a job is not of several branches, and "<branch>" where it is.
    """
    if ref is None or ref.startswith("refs/") or "/" not in ref:
        return ref
    remote, _, branch = ref.partition("/")
    own = env["GIT_URL"] or env["GIT_URL_1"]
    if remotes and (not own or repository_name(own) in map(repository_name, remotes.values())):
        prefix = next((name for name in remotes if ref.startswith(f"{name}/")), None)
        target = own or remotes.get("origin")
        return head_branch(ref[len(prefix) + 1 :], source=remotes[prefix], target=target) if prefix else ref
    if remote in ("origin", "remotes") or unquote(env["JOB_NAME"] or "").endswith(f"/{ref}"):
        return ref if remote != "origin" else branch
    if env["GIT_URL_2"]:
        return None
    return branch if own or remote == "upstream" else ref


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

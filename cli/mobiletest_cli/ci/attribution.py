"""The attribution of an execution, and how names of repositories, branches and pull requests are read for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

_SCP = re.compile(r"(?:[^@/]+@)?[^:/@]{2,}:(?!//)(?P<path>.+)")
_NUMBER = re.compile(r"(?:^|/(?:pull|pulls|pull-requests|merge_requests)/|^(?:PR|MR)-)([0-9]{1,10})/?$")
_REF = re.compile(r"refs/(?:heads|remotes/[^/]+)/")
_TAG = "refs/tags/"


@dataclass(frozen=True)
class Attribution:
    """What a CI system says about the change under test; None for what it does not say.

    `base_branch` is the target of a pull request, otherwise the default branch of the repository. Builds of tags have
    no branch. The branch of a pull request from a fork is "owner:branch", because a fork's "main" is not our "main".
    """

    system: str | None = None
    commit_sha: str | None = None
    branch: str | None = None
    pr_number: int | None = None
    run_url: str | None = None
    run_id: str | None = None
    repository: str | None = None
    base_branch: str | None = None


def read_number(text: str | None) -> int | None:
    """The number of a pull request in "12", "PR-12" or ".../pull/12"; None if there is none ("false", "")."""
    found = _NUMBER.search(text or "")
    return int(found[1]) if found else None


def branch_name(ref: str | None) -> str | None:
    """The branch of "refs/heads/main", "refs/remotes/origin/main" or "main"; None for tags and commits."""
    if not ref or ref in ("HEAD", "detached") or ref.startswith((_TAG, "refs/pull/", "refs/merge-requests/")):
        return None
    return _REF.sub("", ref, count=1)


def repository_name(address: str | None) -> str | None:
    """The path "team/app" in the URL of a repository, without credentials, host and port; "team/app" stays as it is.

    None for local paths.
    """
    if not address:
        return None
    if "://" in address:
        path = _path_of_url(address)
    elif found := _SCP.fullmatch(address):
        path = found["path"]
    else:
        path = "" if address.startswith(("/", ".")) or "\\" in address else address
    return _without_decoration(path) or None


def head_branch(branch: str | None, *, source: str | None, target: str | None) -> str | None:
    """The branch of a pull request: "owner:branch" if the repository `source` is a fork of `target`."""
    fork, own = repository_name(source), repository_name(target)
    if not branch or not fork or not own or fork.casefold() == own.casefold():
        return branch
    owner = fork.rpartition("/")[0] or fork
    return f"{owner}:{branch}"


def _path_of_url(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:  # such as an IPv6 address that is not closed
        return ""
    return "" if parts.scheme == "file" else parts.path


def _without_decoration(path: str) -> str:
    """Without ".git", and without the parts that Azure Repos (_git, v3) and Bitbucket Data Center (scm) add."""
    parts = [part for part in path.split("/") if part and part != "_git"]
    if len(parts) > 2 and parts[0] in ("scm", "v3"):
        parts = parts[1:]
    return re.sub(r"\.git$", "", "/".join(parts))

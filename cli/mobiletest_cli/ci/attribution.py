"""The attribution of an execution, how names of repositories, branches and pull requests are read for it, and its
X-CI headers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

_SCP = re.compile(r"(?:[^@/]+@)?[^:/@]{2,}:(?!//)(?P<path>.+)")
_KINDS = r"(?:pull|pulls|pr|pull-requests|merge-requests|merge_requests|changes/[0-9]{2})"
_NUMBER = re.compile(rf"(?:^|(?:^|/){_KINDS}/|^(?:PR|MR)-)([0-9]{{1,10}})/?$")
_CHANGE = re.compile(
    rf"(?:refs/(?:remotes/)?(?:[^/]+/)?{_KINDS}/([0-9]{{1,10}})(?:/.*)?"
    rf"|{_KINDS}/([0-9]{{1,10}})/(?:head|merge|from|to|train)"
    r"|(?:PR|MR)-([0-9]{1,10})(?:-head|-merge)?)"
)
_REF = re.compile(r"(?:refs/heads/|(?:refs/)?remotes/[^/]+/)")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_TAG = "refs/tags/"
# Bytes of headers in UTF-8, so that neither the limit in characters nor that of a header line is exceeded.
LENGTH_LIMIT = 1000
URL_LENGTH_LIMIT = 4000
BRANCH_LENGTH_LIMIT = 300
_LAST_NUMBER = 2**31 - 1
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_WEB_ADDRESS = re.compile(r"(?ai:https?)://[^\x00-\x20\x7f/]\S*")


@dataclass(frozen=True)
class Attribution:
    """What is known of the change under test; None for what is not.

    `base_branch` is the target of a pull request, otherwise the default branch of the repository. Builds of tags have
    no branch. The branch of a pull request from a fork is "owner:branch", because a fork's "main" is not our "main".

    `checkout_sha` is the commit that the system checks out for the change where that is not `commit_sha`: a merge of
    it. `trigger_sha` is one that the system checks out although the change is another: that of a comment's workflow.
    """

    system: str | None = None
    commit_sha: str | None = None
    branch: str | None = None
    pr_number: int | None = None
    run_url: str | None = None
    run_id: str | None = None
    repository: str | None = None
    base_branch: str | None = None
    tag: str | None = None
    checkout_sha: str | None = None
    trigger_sha: str | None = None
    # Where branch and commit come from, for people.
    source: str = field(default="", compare=False)


def read_number(text: str | None) -> int | None:
    """The number of a pull request in "12", "PR-12", "pr/12" or ".../pull/12"; None if there is none ("false", "")."""
    match = _NUMBER.search(text or "")
    return int(match[1]) if match else None


def change_number(ref: str | None) -> int | None:
    """The 12 of a ref that is made for a pull request, such as "refs/pull/12/merge", "pr/12/head" or "PR-12-merge"."""
    match = _CHANGE.fullmatch(ref or "")
    return int(match[match.lastindex or 1]) if match else None


def branch_name(ref: str | None) -> str | None:
    """The branch of "refs/heads/main", "refs/remotes/origin/main" or "main".

    None for tags, commits, and refs that are made for pull requests.
    """
    name = re.sub(r"\^\{.*\}$", "", ref or "")  # CodeBuild's refs/heads/main^{<commit>}
    if (
        not name
        or name in ("HEAD", "FETCH_HEAD", "detached")
        or name.startswith(_TAG)
        or change_number(name) is not None
    ):
        return None
    name = _REF.sub("", name, count=1)
    illegal = name.count(":") > 1 or " " in name or name.startswith("refs/")
    return None if illegal or not name or name == "HEAD" or _COMMIT.fullmatch(name) else name


def tag_name(ref: str | None) -> str | None:
    """The tag of "refs/tags/v1"; None for other refs."""
    return ref.removeprefix(_TAG) if ref and ref.startswith(_TAG) else None


def repository_name(address: str | None) -> str | None:
    """The path "team/app" in the URL of a repository, without credentials, host and port; "team/app" stays as it is.

    None for local paths.
    """
    if not address:
        return None
    if "://" in address:
        path = _path_of_url(address)
    elif match := _SCP.fullmatch(address):
        path = match["path"]
    else:
        path = "" if address.startswith(("/", ".")) or "\\" in address else address
    return _without_decoration(path) or None


def head_branch(branch: str | None, *, source: str | None, target: str | None) -> str | None:
    """The branch of a pull request: "owner:branch" if the repository `source` is a fork of `target`."""
    fork, own = repository_name(source), repository_name(target)
    if not branch or ":" in branch or not fork or not own or fork.casefold() == own.casefold():
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


def headers(attribution: Attribution) -> dict[str, str]:
    """The headers of a start for what is known, without values that the gateway would refuse with 422.

    The gateway reads header values as UTF-8, and a branch may have any characters: send them as
    `httpx.Headers(headers(...), encoding="utf-8")`.
    """
    values = {
        "X-CI-System": _header_text(attribution.system),
        "X-CI-Commit-SHA": _header_text(attribution.commit_sha),
        "X-CI-Branch": _header_text(attribution.branch),
        "X-CI-PR-Number": _header_number(attribution.pr_number),
        "X-CI-Run-URL": _header_url(attribution.run_url),
        "X-CI-Run-ID": _header_text(attribution.run_id),
        "X-CI-Repository": _header_text(repository_name(attribution.repository)),
        "X-CI-Base-Branch": _header_text(attribution.base_branch, BRANCH_LENGTH_LIMIT),
    }
    return {name: value for name, value in values.items() if value}


def _header_text(value: str | None, limit: int = LENGTH_LIMIT) -> str:
    """The value; "" if it cannot be sent."""
    text = (value or "").strip()
    try:
        size = len(text.encode())
    except UnicodeEncodeError:  # bytes of an environment variable that are not UTF-8
        return ""
    return text if size <= limit and not _CONTROLS.search(text) else ""


def _header_number(number: int | None) -> str:
    return str(number) if number is not None and 0 < number <= _LAST_NUMBER else ""


def _header_url(url: str | None) -> str:
    """The URL without credentials; "" if it is not http or https."""
    text = _header_text(url, URL_LENGTH_LIMIT)
    if not _WEB_ADDRESS.fullmatch(text):
        return ""
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    without = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    return without if _WEB_ADDRESS.fullmatch(without) else ""

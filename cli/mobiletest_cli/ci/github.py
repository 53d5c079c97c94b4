"""GitHub Actions: its variables, and the event file with what they leave out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mobiletest_cli.ci.attribution import Attribution, branch_name, change_number, head_branch, tag_name
from mobiletest_cli.ci.environment import Environment

Event = dict[str, Any]


def github(env: Environment) -> Attribution:
    """The head of a pull request or merge group, not the merge commit that GITHUB_SHA is there.

    Forgejo and Gitea set the same variables.
    """
    event, name = _read_event(env["GITHUB_EVENT_PATH"]), env["GITHUB_EVENT_NAME"]
    known = _run(env)
    if read_run := _ABOUT_OTHERS.get(name or ""):
        return _of_triggering_run(known, read_run(event), _text(_object(event, "repository"), "default_branch"))
    pull_request = _object(event, "pull_request") or _object(_object(event, "client_payload"), "pull_request")
    if pull_request or env["GITHUB_BASE_REF"]:
        return _of_pull_request(known, pull_request, env)
    if name == "issue_comment":
        return _of_comment(known, event)
    if group := _object(event, "merge_group"):
        base = branch_name(_text(group, "base_ref"))
        return replace(known, commit_sha=_text(group, "head_sha") or env["GITHUB_SHA"], base_branch=base)
    return replace(known, base_branch=_text(_object(event, "repository"), "default_branch"))


def _run(env: Environment) -> Attribution:
    repository, run_id = env["GITHUB_REPOSITORY"], env["GITHUB_RUN_ID"]
    server = env["GITHUB_SERVER_URL"] or "https://github.com"
    forge = next((name for name in ("forgejo", "gitea") if env[f"{name.upper()}_ACTIONS"]), "github")
    return Attribution(
        system=forge,
        commit_sha=env["GITHUB_SHA"],
        branch=branch_name(env["GITHUB_REF"]),
        pr_number=change_number(env["GITHUB_REF"]),
        run_url=f"{server}/{repository}/actions/runs/{run_id}" if repository and run_id else None,
        run_id=run_id,
        repository=repository,
        tag=tag_name(env["GITHUB_REF"]),
    )


def _of_comment(known: Attribution, event: Event) -> Attribution:
    """A comment starts the workflow of the default branch; which commit is tested, only the checkout says."""
    issue = _object(event, "issue")
    number = issue.get("number")
    if event and not _object(issue, "pull_request"):
        return replace(known, base_branch=known.branch)
    return replace(
        known,
        commit_sha=None,
        branch=None,
        pr_number=number if isinstance(number, int) else None,
        base_branch=_text(_object(event, "repository"), "default_branch") or known.branch,
        trigger_sha=known.commit_sha,
    )


def _of_pull_request(known: Attribution, pull_request: Event, env: Environment) -> Attribution:
    """GITHUB_SHA is a merge commit or the base, so without the event file the commit is unknown."""
    head, base = _object(pull_request, "head"), _object(pull_request, "base")
    number, target = pull_request.get("number"), _text(base, "ref") or env["GITHUB_BASE_REF"]
    branch = _head_branch(head, _repository(base) or known.repository) or env["GITHUB_HEAD_REF"]
    is_merge = known.pr_number is not None  # otherwise GITHUB_SHA is the target's: pull_request_target
    return replace(
        known,
        commit_sha=_text(head, "sha"),
        branch=f"fork:{branch}" if branch and branch == target else branch,
        pr_number=number if isinstance(number, int) else known.pr_number,
        base_branch=target,
        checkout_sha=known.commit_sha if is_merge else None,
        trigger_sha=None if is_merge else known.commit_sha,
    )


def _of_triggering_run(known: Attribution, run: Event, default: str | None) -> Attribution:
    """A workflow that runs after another one, or a check, tests the change of that.

    Its variables name the default branch. Checks of forks have no branch. A run that was itself of another run, or of a
    comment, names the default branch, too, whatever it built.
    """
    pull_requests = run.get("pull_requests")
    is_about_others = run.get("event") in {*_ABOUT_OTHERS, "issue_comment"}
    first = pull_requests[0] if isinstance(pull_requests, list) and pull_requests else {}
    number = first.get("number") if isinstance(first, dict) else None
    return replace(
        known,
        commit_sha=None if is_about_others else _text(run, "head_sha"),
        branch=None if is_about_others else _branch_of_run(run, known.repository),
        pr_number=number if isinstance(number, int) else None,
        base_branch=(_text(_object(first, "base"), "ref") if isinstance(first, dict) else None) or default,
        trigger_sha=known.commit_sha,
    )


def _branch_of_run(run: Event, target: str | None) -> str | None:
    """The branch of a run; of a fork that was deleted, its owner is not known."""
    branch = _text(run, "head_branch")
    if branch and run.get("head_repository", {}) is None:
        return f"fork:{branch}"
    return head_branch(branch, source=_text(_object(run, "head_repository"), "full_name"), target=target)


def _status(event: Event) -> Event:
    """The commit status as a run: its commit, and its branch if it is the only one that begins with the commit."""
    branches = event.get("branches")
    only = branches[0] if isinstance(branches, list) and len(branches) == 1 else {}
    return {"head_sha": event.get("sha"), "head_branch": only.get("name") if isinstance(only, dict) else None}


# The events of another commit than the one that the variables name, and what of them names it.
_ABOUT_OTHERS: Mapping[str, Callable[[Event], Event]] = {
    "workflow_run": lambda event: _object(event, "workflow_run"),
    "check_suite": lambda event: _object(event, "check_suite"),
    "check_run": lambda event: _object(_object(event, "check_run"), "check_suite"),
    "status": _status,
}


def _head_branch(head: Event, target: str | None) -> str | None:
    """`label` is "owner:branch"; it is used when the fork was deleted, which leaves no repository."""
    branch = _text(head, "ref")
    if head.get("repo", {}) is None:
        return _text(head, "label") or branch
    return head_branch(branch, source=_repository(head), target=target)


def _repository(side: Event) -> str | None:
    return _text(_object(side, "repo"), "full_name")


def _read_event(path: str | None) -> Event:
    """The event; {} if the file is absent or broken, because attribution must not stop a test run."""
    try:
        event = json.loads(Path(path).read_bytes()) if path else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}


def _object(parent: Event, name: str) -> Event:
    value = parent.get(name)
    return value if isinstance(value, dict) else {}


def _text(parent: Event, name: str) -> str | None:
    value = parent.get(name)
    return value if isinstance(value, str) and value else None

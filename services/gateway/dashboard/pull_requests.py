"""Pull requests of one number in several repositories: they are different changes, which have no verdict together."""

from collections.abc import Mapping, Sequence
from typing import Any

from services.gateway.dashboard.comparisons import repository_url

# Where a pull request is below the address of its repository, by the words for the CI system.
_PULL_REQUESTS = {"github": "/pull/", "gitlab": "/-/merge_requests/"}

Json = Mapping[str, Any]


def repositories_of(pull_request: Json, executions: Sequence[Json]) -> Sequence[str]:
    """The repositories that CI named for the builds of the pull request and for these executions of it, by name."""
    texts = (each["repository"] for each in (*pull_request["builds"], *(each["ci"] for each in executions)))
    return sorted({name for text in texts if (name := repository_name(text))})


def repository_name(text: str | None) -> str | None:
    """A repository as CI named it, without what does not tell it from others; None if CI named none."""
    return repository_url(text) or text or None


def of_repository(pull_request: Json, repository: str, executions: Json) -> Json:
    """The pull request with its builds of this repository, without those of unknown ones; the rest is what the newest
    of these executions of it says. `is_last_known`: there is one, so `last_run_at` and `last_execution_id` are its own.
    """
    builds = [each for each in pull_request["builds"] if repository_name(each["repository"]) == repository]
    newest = next(iter(executions["items"]), None)
    ci = newest["ci"] if newest else {}
    last = {"last_run_at": newest["created_at"], "last_execution_id": newest["id"]} if newest else {}
    named = {"head_branch": ci.get("branch"), "commit_sha": ci.get("commit_sha"), "ci_system": ci.get("system")}
    return {**pull_request, **named, **last, "repository": repository, "builds": builds, "is_last_known": bool(newest)}


def executions_of(executions: Json, repository: str) -> Json:
    """Those of a page of executions that CI started for this repository."""
    items = [each for each in executions["items"] if repository_name(each["ci"]["repository"]) == repository]
    return {**executions, "items": items}


def pull_request_url(branch: Json) -> str | None:
    """The address of a pull request where its repository is; None where the form of such addresses is not known."""
    repository = repository_url(branch["repository"])
    is_number = branch["name"].isascii() and branch["name"].isdecimal()
    if branch["kind"] != "pull_request" or not repository or not is_number:
        return None
    system = (branch["ci_system"] or "").lower()
    path = next((path for word, path in _PULL_REQUESTS.items() if word in system), None)
    return f"{repository}{path}{branch['name']}" if path else None

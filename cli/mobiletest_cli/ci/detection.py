"""Which change is under test: what the CI system says, completed and corrected by the git checkout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from mobiletest_cli.ci.attribution import Attribution, head_branch, repository_name
from mobiletest_cli.ci.checkout import Checkout, read_checkout
from mobiletest_cli.ci.environment import Environment
from mobiletest_cli.ci.github import github
from mobiletest_cli.ci.systems import SYSTEMS
from mobiletest_cli.ci.variables import is_on, read_system, teamcity

# The systems that say something in files only, by their markers.
_WITH_FILES: Mapping[str, Callable[[Environment], Attribution]] = {
    "GITHUB_ACTIONS GITEA_ACTIONS FORGEJO_ACTIONS": github,
    "TEAMCITY_VERSION": teamcity,
}
# What CI systems set that are not known. Without these, a run is a developer's, and of no branch.
_ANY = "CI CONTINUOUS_INTEGRATION CI_NAME BUILD_NUMBER BUILD_ID"


def detect(environ: Mapping[str, str], *folders: Path) -> Attribution:
    """The change under test; the system is "ci" for an unknown one, and None outside of CI.

    The CI system's variables come first, then the git checkout around the first of the folders that has one. Where the
    job tests another commit than that of its event, the checkout counts. It raises nothing.
    """
    env = Environment(environ)
    if not any(is_on(env, marker) for marker in (*_WITH_FILES, *(system.marker for system in SYSTEMS), _ANY)):
        return Attribution()
    checkout = next((checkout for folder in folders if (checkout := read_checkout(folder))), None)
    known = _read_variables(env, checkout.remotes if checkout else {})
    known = replace(known, source=f"the variables of {known.system}" if known.branch or known.commit_sha else "")
    return reconcile(known, checkout) if checkout else known


def _read_variables(env: Environment, remotes: Mapping[str, str]) -> Attribution:
    for marker, read in _WITH_FILES.items():
        if is_on(env, marker):
            return read(env)
    system = next((system for system in SYSTEMS if is_on(env, system.marker)), None)
    return read_system(system, env, remotes) if system else Attribution(system="ci")


def reconcile(known: Attribution, checkout: Checkout) -> Attribution:
    """The attribution with what the checkout adds.

    The checkout decides if it is of the same repository and has another commit than the event, into which that of the
    event was not merged. But the base branch, checked out by the job of another, is of none: the job may take its flows
    from there, and the build that it tests from elsewhere.
    """
    if not _is_same_repository(known, checkout) or checkout.head == known.trigger_sha:
        return known
    known = replace(known, base_branch=known.base_branch or checkout.default_branch)
    if checkout.is_merging and known.pr_number is None and known.branch in (None, known.base_branch or "main"):
        return replace(known, commit_sha=None, branch=None, source="")
    if _agrees(known, checkout):
        return _complete(known, checkout)
    if not (known.repository and checkout.repository) and not checkout.has(known.commit_sha or ""):
        return known
    is_of_base = known.pr_number is None and known.branch is not None and known.branch == known.base_branch
    branch = _branch(known, checkout, is_change=checkout.number is not None or not is_of_base)
    return replace(
        known,
        commit_sha=checkout.head,
        branch=branch,
        pr_number=checkout.number or (known.pr_number if branch and branch == known.branch else None),
        tag=None,
        source=_source(checkout),
    )


def _agrees(known: Attribution, checkout: Checkout) -> bool:
    """Whether what is checked out is the change of the event, or a merge of it.

    What contains the base branch's commit is no build of the base branch: every pull request contains it.
    """
    commit = known.commit_sha
    if commit is None or checkout.head in (commit, known.checkout_sha):
        return True
    if len(commit) >= 7 and checkout.head.startswith(commit):
        return True
    is_of_base = known.pr_number is None and known.branch in (None, known.base_branch or known.branch)
    return checkout.extends(known.branch, commit) if is_of_base else checkout.includes(commit)


def _complete(known: Attribution, checkout: Checkout) -> Attribution:
    """The attribution with what it lacks."""
    number, branch = known.pr_number or checkout.number, known.branch
    if branch is None and known.tag is None:
        branch = _branch(known, checkout, is_change=number is not None)
    is_completed = known.commit_sha is None or branch != known.branch
    sources = [known.source] * bool(known.source) + [_source(checkout)] * is_completed
    return replace(
        known,
        commit_sha=known.commit_sha or checkout.head,
        branch=branch,
        pr_number=number,
        repository=known.repository or repository_name(checkout.repository),
        source=" and ".join(sources),
    )


def _branch(known: Attribution, checkout: Checkout, *, is_change: bool) -> str | None:
    """The branch of the checkout, as seen from the repository of the event; a pull request's is never its target."""
    target = known.repository or repository_name(checkout.repository)
    branch = head_branch(checkout.branch(target), source=checkout.repository, target=target)
    is_target = is_change and branch is not None and ":" not in branch and branch == (known.base_branch or branch)
    return None if is_target else branch


def _source(checkout: Checkout) -> str:
    return f"the git checkout {checkout.root}"


def _is_same_repository(known: Attribution, checkout: Checkout) -> bool:
    """Whether the checkout is of the repository or a fork of it, whose name is the same; also if one is unknown."""
    own, other = known.repository, repository_name(checkout.repository)
    return not own or not other or own.rpartition("/")[2].casefold() == other.rpartition("/")[2].casefold()


def describe(attribution: Attribution) -> str:
    """What is known, and from where, in one line."""
    if attribution.system is None:
        return "not in CI: runs count for no branch, unless --ci-branch names one"
    parts = [attribution.system]
    for label, value in (
        ("branch", attribution.branch),
        ("commit", attribution.commit_sha),
        ("tag", attribution.tag),
        ("pull request", attribution.pr_number),
        ("base branch", attribution.base_branch),
        ("repository", repository_name(attribution.repository)),
    ):
        parts += [f"{label} {value}"] if value else []
    return ", ".join(parts) + (f" (from {attribution.source})" if attribution.source else "")


def missing_branch(attribution: Attribution) -> tuple[str, str] | None:
    """What is not known of a run in CI, and what to do; None if its branch is known, or it is not in CI."""
    if attribution.system is None or attribution.branch:
        return None
    where = "this CI system is not known" if attribution.system == "ci" else f"CI is {attribution.system}"
    if attribution.tag:
        where += f", the build of tag {attribution.tag}"
    elif attribution.pr_number:
        where += f", pull request {attribution.pr_number}"
    what = "branch" if attribution.commit_sha else "branch and commit"
    flags = "--ci-branch NAME" if attribution.commit_sha else "--ci-branch NAME and --ci-commit SHA"
    verb = "is" if attribution.commit_sha else "are"
    return f"the {what} under test {verb} not known ({where}): the run counts for no branch", f"Give {flags}"

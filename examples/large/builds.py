"""The builds of the team: versions, branches, commits and pull requests, and what each of them breaks."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha1

from examples.large.app_model import BROKEN_FILE, Fates, model_text
from examples.large.journeys import Journey

REPOSITORY = "https://git.example.com/bank/mobile"
DAYS = 59.0
# Of every six builds: two of main, three of pull requests, one of a release.
_LINES = ("main", "pull request", "main", "pull request", "release", "pull request")
_FEATURES = ("feature/instant-transfers", "fix/iban-check", "feature/card-in-wallet", "chore/update-kotlin-2.2")


@dataclass(frozen=True, slots=True)
class PlannedBuild:
    """A build that is to have been uploaded so many days ago; `file` is the content of its app file."""

    version: str
    days_ago: float
    line: str
    branch: str
    commit_sha: str
    file: str
    pr_number: int | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The attribution by which CI starts tests on it."""
        run_id = str(int(self.commit_sha[:7], 16))
        headers = {
            "X-CI-System": "github",
            "X-CI-Branch": self.branch,
            "X-CI-Commit-SHA": self.commit_sha,
            "X-CI-Repository": REPOSITORY,
            "X-CI-Run-ID": run_id,
            "X-CI-Run-URL": f"{REPOSITORY}/actions/runs/{run_id}",
        }
        return headers | ({"X-CI-PR-Number": str(self.pr_number)} if self.pr_number else {})

    @property
    def metadata(self) -> dict[str, str]:
        return {"branch": self.branch, "commit_sha": self.commit_sha, "repository": REPOSITORY}


def commit(text: str) -> str:
    """A commit of 40 characters that is made up."""
    return sha1(text.encode(), usedforsecurity=False).hexdigest()


def planned_builds(number: int, tests: Sequence[Journey]) -> list[PlannedBuild]:
    """The builds of the team's main app, oldest first. The last one breaks six tests, and one has a broken file."""
    return [_build(place, number, [test.key for test in tests]) for place in range(number)]


def single_build(app: str, version: str, days_ago: float) -> PlannedBuild:
    """A build of another app, on which all tests pass."""
    sha = commit(f"{app} {version}")
    return PlannedBuild(version, days_ago, "main", "main", sha, model_text(version, Fates()))


def ios_build(place: int, tests: Sequence[Journey]) -> PlannedBuild:
    """The n-th build of the main app for iOS, all of main: two tests fail on three of them and recover."""
    version, sha = f"5.{place}.0", commit(f"bank iOS {place}")
    recovered = [test.key for test in tests[8:11:2]] if 2 <= place < 5 else []
    return PlannedBuild(version, 56 - 7 * place, "main", "main", sha, model_text(version, Fates(failing=recovered)))


def broken_place(number: int) -> int:
    """The build with the broken file: the last pull request of the first two thirds."""
    return max(place for place in range(number * 2 // 3 + 1) if _line(place, number) == "pull request")


def _line(place: int, number: int) -> str:
    return "release" if place == number - 1 else _LINES[place % len(_LINES)]


def _build(place: int, number: int, keys: list[str]) -> PlannedBuild:
    line = _line(place, number)
    version = f"5.{place // 6}.{place % 6}"
    pr_number = 400 + place * 7 if line == "pull request" else None
    branch = {"main": "main", "release": f"release/5.{place // 6}"}.get(line, _FEATURES[place // 2 % len(_FEATURES)])
    version += f"-pr{pr_number}" if pr_number else "-rc.1" if line == "release" else ""
    text = BROKEN_FILE if place == broken_place(number) else model_text(version, fates(place, number, keys))
    days_ago = DAYS - place * (DAYS - 0.2) / (number - 1)
    return PlannedBuild(version, days_ago, line, branch, commit(f"bank {place}"), text, pr_number)


def fates(place: int, number: int, keys: Sequence[str]) -> Fates:
    """What happens to the tests on the n-th of so many builds; of few tests there are fewer fates."""

    def some(*places: int) -> set[str]:
        return {keys[each] for each in places if each < len(keys)}

    share = place / (number - 1)
    failing = some(5) if share > 0.15 else set()  # broken for long
    failing |= some(10, 11) if 0.25 < share < 0.6 else set()  # fixed
    failing |= some(33, 34, 35, 36) if 0.05 < share < 0.12 else set()  # recovered long ago
    failing |= some(50, 51) if _line(place, number) == "pull request" and place % 4 == 1 else set()
    failing |= some(1, 60, 61, 62, 63, 64) if place == number - 1 else set()  # newly broken
    return Fates(
        failing=failing,
        verbose=some(6) if share > 0.3 else set(),
        crashing=some(3) if 0.4 < share < 0.5 else some(70) if share > 0.9 else set(),
        unreliable=some(2, 23, 42, 43) | (some(44) if share > 0.75 else set()),
        german=some(0, 40) if share > 0.5 else set(),
    )

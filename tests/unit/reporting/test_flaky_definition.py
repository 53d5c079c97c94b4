"""docs/flaky.md read out a second time, word by word and however slowly: `assess` says the same of any history."""

from collections.abc import Sequence
from itertools import product

from hypothesis import given, settings

from services.reporting.model.attempts import Attempt
from services.reporting.model.flaky import Classification
from tests.examples import examples
from tests.fakes.reporting_attempts import NO_DEADLINE, assess, attempts_from_letters
from tests.unit.reporting.test_flaky import histories

Code = tuple[str, int]


class Definition:
    """All and Calm of a history, and what the definition says of them."""

    def __init__(self, decided: Sequence[Attempt]) -> None:
        self.all, self.branch_in_all = order(decided)
        self.calm, self.branch_in_calm = order([attempt for attempt in decided if not attempt.storm])

    def pairs(self) -> list[int]:
        """Each pair is named by the place of its first attempt."""
        return [i for i in range(len(self.calm) - 1) if self._on(i) == self._on(i + 1)]

    def lone(self) -> set[int]:
        lone_attempts = set()
        for i in range(1, len(self.calm) - 1):
            passed = [attempt.passed for attempt in self.calm[i - 1 : i + 2]]
            if passed == [True, False, True] and self._on(i - 1) == self._on(i) == self._on(i + 1):
                lone_attempts.add(i)
        return lone_attempts

    def score(self) -> float:
        if len(self.calm) < 2:
            return 0.0
        flips = [i for i in self.pairs() if self._flips(i)]
        return round(sum(map(self._weight, flips)) / (sum(map(self._weight, self.pairs())) + 2), 3)

    def mixed(self) -> int:
        return len(mixed(self.calm))

    def alone(self) -> int:
        calm = self.calm
        return sum(code(calm[i]) != code(calm[i - 1]) and code(calm[i]) != code(calm[i + 1]) for i in self.lone())

    def classification(self) -> str:
        verdicts = [attempt.passed for attempt in self.all]
        if len(verdicts) < 3 and not mixed(self.all):
            return "insufficient_data"
        failures = ending(verdicts, False)
        if self._broken(failures):
            return "broken"
        if (self.mixed() >= 1 or self.alone() >= 2) and self.score() >= 0.075:
            return "flaky"
        before = verdicts[: len(verdicts) - failures][-3:]
        if failures and before and all(before) and not self._passed_on_newest():
            return "regressed"
        return "recovered" if self._recovered(verdicts) else "stable"

    def _broken(self, failures: int) -> bool:
        if failures < (5 if mixed(self.all) else 3) or self._passed_on_newest():
            return False
        builds = {attempt.build.id for attempt in self.all[len(self.all) - failures :]}
        return len(builds) >= 2 or not any(attempt.passed for attempt in self.all)

    def _recovered(self, verdicts: list[bool]) -> bool:
        passes = ending(verdicts, True)
        before = verdicts[: len(verdicts) - passes]
        if passes < 3 or ending(before, False) < 3:
            return False
        newest = max(self.all, key=lambda attempt: attempt.build.key)
        return self.branch_in_all[self.all[len(before) - 1].build.id] == self.branch_in_all[newest.build.id]

    def _passed_on_newest(self) -> bool:
        newest = max(attempt.build.key for attempt in self.all)
        return any(attempt.passed for attempt in self.all if attempt.build.key == newest)

    def _flips(self, i: int) -> bool:
        one, other = self.calm[i], self.calm[i + 1]
        return one.passed != other.passed and (code(one) == code(other) or bool(self.lone() & {i, i + 1}))

    def _weight(self, i: int) -> float:
        neighbours_after = len(self.calm) - 1 - (i + 1)
        return float(2 ** (-neighbours_after / 30))

    def _on(self, i: int) -> str | None:
        return self.branch_in_calm[self.calm[i].build.id]


def order(attempts: Sequence[Attempt]) -> tuple[list[Attempt], dict[str, str | None]]:
    """The newest 40 in the order of the definition, and the branch of each build."""
    newest = sorted(attempts, key=lambda a: (a.started_at, a.execution_id, a.number, a.run_id))[-40:]
    branches: dict[str, str | None] = {}
    for attempt in newest:
        if attempt.branch and attempt.build.id not in branches:
            branches[attempt.build.id] = attempt.branch
    if newest:
        newest_build = max(newest, key=lambda attempt: attempt.build.key).build.id
        unknown = branches.get(newest_build)
        branches = {attempt.build.id: branches.get(attempt.build.id, unknown) for attempt in newest}

    def place(attempt: Attempt) -> tuple[object, ...]:
        same = [other.build.key for other in newest if branches[other.build.id] == branches[attempt.build.id]]
        return max(same), attempt.build.key, attempt.started_at, attempt.execution_id, attempt.number, attempt.run_id

    return sorted(newest, key=place), branches


def code(attempt: Attempt) -> Code:
    return attempt.build.id, attempt.test_version


def mixed(attempts: Sequence[Attempt]) -> set[Code]:
    return {code(a) for a in attempts if a.passed} & {code(a) for a in attempts if not a.passed}


def ending(verdicts: Sequence[bool], verdict: bool) -> int:
    count = 0
    while count < len(verdicts) and verdicts[-1 - count] == verdict:
        count += 1
    return count


@settings(NO_DEADLINE, max_examples=examples(400))
@given(histories())
def test_score_and_class_are_those_of_the_definition(history: list[Attempt]) -> None:
    assessment, defined = assess(history), Definition(history)
    assert (assessment.score, assessment.classification.value) == (defined.score(), defined.classification())


def test_all_short_histories_agree_and_cover_every_class() -> None:
    cells = [*product(["P", "F", "PF", "FP", "FF", "x:F", "*P"], repeat=4), *product("PF", repeat=8)]
    seen = set()
    for text in map("/".join, cells):
        history = attempts_from_letters(text)
        assessment, defined = assess(history), Definition(history)
        assert (assessment.score, assessment.classification.value) == (defined.score(), defined.classification()), text
        seen.add(assessment.classification)
    assert seen >= set(Classification) - {Classification.INSUFFICIENT_DATA}

"""The gate: what blocks, what does not, and what it says."""

from datetime import timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.chassis.context import Caller, bind
from services.reporting.model.reports.gate import Gate, GateResult, GateRule
from tests.contract.reporting.store import MongoStore, StoredCiStory
from tests.fakes.reporting_attempts import NO_DEADLINE
from tests.fakes.reporting_story import NOW, ORG

NEW, KNOWN = GateRule.NEWLY_BROKEN, GateRule.KNOWN_ON_BASE


@pytest.fixture
def story(store: MongoStore) -> StoredCiStory:
    return StoredCiStory(store)


def rules(gate: Gate) -> dict[str, GateRule]:
    return {reason.run.test_id: reason.rule for reason in gate.reasons}


async def only(story: StoredCiStory, execution: str, **options: str) -> tuple[GateRule, str]:
    """The rule and the sentence of the only run that did not pass."""
    (reason,) = (await story.gate(execution, **options)).reasons  # type: ignore[arg-type]
    return reason.rule, reason.detail


class TestAResult:
    @pytest.mark.parametrize(
        ("endings", "total", "result", "summary"),
        [
            ({"pay": "passed", "search": "passed"}, 2, GateResult.PASS, "Passed: all 2 runs passed."),
            (
                {"pay": "failed", "search": "passed"},
                2,
                GateResult.BLOCK,
                'Blocked: 1 test newly broken ("Old name of pay").',
            ),
            (
                {"pay": "failed"},
                2,
                GateResult.BLOCK,
                'Blocked: 1 test newly broken ("Old name of pay"); 1 run has not ended.',
            ),
            ({}, 0, GateResult.BLOCK, "Blocked: the execution has no runs, so nothing was tested."),
        ],
        ids=["passed", "failed", "failed before all have ended", "no runs"],
    )
    async def test_of_runs_on_a_first_build(
        self, story: StoredCiStory, endings: dict[str, str], total: int, result: GateResult, summary: str
    ) -> None:
        gate = await story.gate(story.ci(story.build("1"), "feature", total=total, **endings))
        assert (gate.result, gate.summary) == (result, summary)
        assert (gate.total, gate.passed, gate.pending) == (
            total,
            list(endings.values()).count("passed"),
            total - len(endings),
        )
        assert rules(gate) == ({"pay": NEW} if "failed" in endings.values() else {})
        assert not gate.storm

    async def test_is_pending_while_runs_have_not_ended_and_none_blocks(self, story: StoredCiStory) -> None:
        story.main("1", pay="failed")
        execution = story.ci(story.build("2"), "feature", total=4, pay="failed", search="passed", go="running")
        gate = await story.gate(execution)
        assert (gate.result, gate.pending) == (GateResult.PENDING, 2)
        assert gate.summary == (
            "Pending: 2 of 4 runs have not ended, and no ended run blocks; 1 failure does not block (1 known on main)."
        )

    async def test_lists_blocking_reasons_first_then_by_name(self, story: StoredCiStory) -> None:
        story.main("1", b="failed", a="failed", d="passed", c="passed")
        gate = await story.gate(
            story.ci(story.build("2"), "feature", b="failed", a="failed", d="failed", c="failed", e="infra")
        )
        assert [reason.run.test_id for reason in gate.reasons] == ["c", "d", "e", "a", "b"]
        assert [reason.rule.blocks for reason in gate.reasons] == [True, True, True, False, False]
        assert gate.summary == (
            'Blocked: 2 tests newly broken ("Old name of c", "Old name of d") and 1 test without a verdict '
            '("Old name of e"); 2 failures do not block (2 known on main).'
        )

    async def test_counts_a_test_once_and_names_the_first_three(self, story: StoredCiStory) -> None:
        build = story.build("1")
        execution = story.ci(build, "feature", total=7, a="failed", b="failed", c="failed", d="failed", e="passed")
        story.run("a", build, "failed", execution=execution, app="ios")
        story.run("e", build, "passed", execution=execution, app="ios")
        gate = await story.gate(execution)
        assert len(gate.reasons) == 5
        named = '"Old name of a", "Old name of b", "Old name of c" and 1 more'
        assert gate.summary == f"Blocked: 4 tests newly broken ({named})."


class TestTheRule:
    async def test_is_quarantine_while_it_lasts_even_without_a_verdict(self, story: StoredCiStory) -> None:
        for test, until in (("pay", NOW + timedelta(days=2)), ("go", NOW + timedelta(days=2)), ("old", NOW)):
            story.quarantine(test, until)
        gate = await story.gate(story.ci(story.build("1"), "feature", pay="failed", go="infra", old="failed"))
        assert rules(gate) == {"pay": GateRule.QUARANTINED, "go": GateRule.QUARANTINED, "old": GateRule.NEWLY_BROKEN}
        pay = next(reason for reason in gate.reasons if reason.run.test_id == "pay")
        assert pay.detail == 'In quarantine until 2026-11-22 12:00 UTC, set by ci key: "Waits for the fix".'
        assert pay.quarantine
        assert pay.breakage

    async def test_is_no_verdict_for_infrastructure_failures_and_cancellations(self, story: StoredCiStory) -> None:
        story.main("1", pay="infra", go="cancelled")
        gate = await story.gate(story.ci(story.build("2"), "feature", pay="infra", go="cancelled"))
        assert (gate.result, rules(gate)) == (GateResult.BLOCK, {"pay": GateRule.NO_VERDICT, "go": GateRule.NO_VERDICT})
        details = {reason.run.test_id: reason.detail for reason in gate.reasons}
        assert details["pay"] == "Ended without a verdict (unknown), so nothing is known of what it tests."
        assert details["go"] == "Was cancelled before it had a verdict."
        assert [reason.breakage for reason in gate.reasons] == [None, None]
        reasons = {reason.run.test_id: reason.run.failure_reason for reason in gate.reasons}
        assert reasons == {"pay": "went wrong", "go": None}

    async def test_is_no_verdict_for_a_run_without_an_app(self, story: StoredCiStory) -> None:
        rule, _ = await only(story, story.ci(None, "feature", app=None, pay="infra"))
        assert rule is GateRule.NO_VERDICT

    async def test_is_flaky_for_a_test_that_is_so_classified_on_its_app(self, story: StoredCiStory) -> None:
        build = story.build("1")
        for ending in ("passed", "failed", "passed", "failed", "passed"):
            story.ci(build, "main", pay=ending)
        rule, detail = await only(story, story.ci(story.build("2"), "feature", pay="failed"))
        assert rule is GateRule.FLAKY
        assert detail.startswith("Classified flaky: Passed and failed on the same code in 1 of")

    async def test_is_known_when_the_newest_verdict_on_the_base_branch_is_a_failure(self, story: StoredCiStory) -> None:
        story.main("1", pay="passed")
        story.main("2", pay="failed")
        newest = story.main("3", pay="failed")
        story.main("4", pay="infra")
        rule, detail = await only(story, story.ci(story.build("5"), "feature", pay="failed"))
        assert rule is GateRule.KNOWN_ON_BASE
        cell = story.tables.cells.get(("app-1", "pay", newest.id))
        assert cell
        assert cell.verdict
        at = f"{cell.verdict.ended_at:%Y-%m-%d %H:%M} UTC"
        assert detail == (f"Fails on main too: its only run on build 3 failed, at {at}, and fails since build 2.")

    @pytest.mark.parametrize(
        ("history", "rule", "detail"),
        [
            ("main failed, main passed, feature here", NEW, "Fails here, and passed on main: its only run on build 2"),
            ("feature here, main failed", KNOWN, "Fails on main too: its only run on build 2 failed"),
            ("feature failed, other failed, feature here", NEW, "Fails here, and has no verdict on another build"),
            ("main passed, main failed + main here", NEW, "Fails here, and passed on main"),
            ("main passed, main here, main failed", NEW, "Fails here, and passed on main"),
            ("main failed, main here, main passed", KNOWN, "Fails on main too"),
            ("- passed, - here", NEW, "Fails here, and passed before"),
            ("- failed, - here", KNOWN, "Failed before too"),
            ("new, - here", NEW, "Fails here, and has no verdict on an earlier build."),
            (
                "main passed + main passed + main infra, feature here",
                NEW,
                "Fails here, and passed on main: 2 of 2 runs on build 1 passed, the last at ",
            ),
            ("main passed, - failed, feature here", NEW, ""),
            ("- failed, feature here", KNOWN, ""),
            ("main failed, main infra + - passed, feature here", NEW, ""),
            ("main failed, main passed + other passed, feature here", NEW, ""),
            ("main failed, - failed, main passed + other infra, - failed, feature here", NEW, ""),
            ("main failed, main passed + other passed, main here, main failed", NEW, ""),
            ("main passed, main failed, main failed + other failed, feature here", KNOWN, ""),
        ],
    )
    async def test_depends_on_the_verdicts_of_other_builds(
        self, story: StoredCiStory, history: str, rule: GateRule, detail: str
    ) -> None:
        _, execution = story.history(history)
        found, sentence = await only(story, execution)
        assert (found, sentence[: len(detail)]) == (rule, detail)

    async def test_looks_at_the_base_branch_that_is_named(self, story: StoredCiStory) -> None:
        story.on("develop", "1", pay="failed")
        execution = story.ci(story.build("2"), "feature", pay="failed")
        assert (await only(story, execution))[0] is GateRule.NEWLY_BROKEN
        assert (await only(story, execution, base="develop"))[0] is GateRule.KNOWN_ON_BASE

    async def test_a_pass_of_the_base_branch_on_the_same_build_counts(self, story: StoredCiStory) -> None:
        """Pull requests that upload nothing are tested on the newest build of main."""
        story.main("1", pay="failed")
        shared = story.main("2", pay="passed")
        execution = story.ci(shared, "feature", total=1)
        story.run("pay", shared, "failed", execution=execution, version=2)
        rule, detail = await only(story, execution)
        assert rule is GateRule.NEWLY_BROKEN
        assert detail.startswith("Fails here, and passed on main: on build 2, at 2026-11-19 ")


BUILDS = st.tuples(st.sampled_from(["main", "feature", None]), st.sampled_from(["passed", "failed", "infra"]))


@NO_DEADLINE
@given(
    history=st.lists(BUILDS, max_size=7),
    place=st.integers(0, 7),
    own=st.sampled_from(["main", "feature", None]),
    random=st.randoms(use_true_random=False),
)
async def test_known_failures_agree_with_a_scan_of_all_builds(
    store: MongoStore, history: list[tuple[str | None, str]], place: int, own: str | None, random: Random
) -> None:
    place = min(place, len(history))
    told = [*history[:place], (own, "failed"), *history[place:]]
    await store.clear()
    story = StoredCiStory(store)
    builds = [story.build(f"{number}") for number in range(len(told))]
    order = list(range(len(told)))
    random.shuffle(order)
    executions = {number: story.ci(builds[number], told[number][0], pay=told[number][1]) for number in order}
    with bind(Caller(ORG)):
        (reason,) = (await story.gate(executions[place])).reasons
    if reason.rule is not GateRule.FLAKY:
        assert (reason.rule is GateRule.KNOWN_ON_BASE) is known_on_main(told, place)


def known_on_main(told: list[tuple[str | None, str]], place: int) -> bool:
    """The definition of docs/gate.md, for builds in the order of their upload."""
    own = told[place][0]
    others = [(at, branch, ending) for at, (branch, ending) in enumerate(told) if at != place and ending != "infra"]
    if own in ("main", None):
        others = [seen for seen in others if seen[0] < place]
    on_main = [ending for _, branch, ending in others if branch == "main" or (own is None and branch is None)]
    line = on_main or [ending for _, branch, ending in others if branch is None]
    return bool(line) and line[-1] == "failed"

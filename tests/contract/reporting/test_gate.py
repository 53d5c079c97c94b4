"""The gate: what blocks, what does not, and what it says."""

from datetime import timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.chassis.context import Caller, bind
from services.reporting.model.reports.gate import Gate, GateCounts, GateResult, GateRule
from services.reporting.model.snapshots import Simulation
from tests.contract.reporting.store import MongoStore, StoredCiStory
from tests.fakes.reporting_attempts import NO_DEADLINE
from tests.fakes.reporting_story import NOW, ORG

NEW, KNOWN = GateRule.NEWLY_BROKEN, GateRule.KNOWN_ON_BASE
NEVER, FIRST = GateRule.NEVER_PASSED, GateRule.NOT_RUN_BEFORE
UNKNOWN = (
    "Fails here, and no run on an earlier build that names main has a verdict. The branch of this run is not known."
)


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
                'Blocked: 1 failing test that was not run before ("Old name of pay").',
            ),
            (
                {"pay": "failed"},
                2,
                GateResult.BLOCK,
                'Blocked: 1 failing test that was not run before ("Old name of pay"); 1 run has not ended.',
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
        passed = list(endings.values()).count("passed")
        assert gate.counts == GateCounts(total, passed, total - len(endings))
        assert rules(gate) == ({"pay": FIRST} if "failed" in endings.values() else {})
        assert not gate.storm

    async def test_is_pending_while_runs_have_not_ended_and_none_blocks(self, story: StoredCiStory) -> None:
        story.main("1", pay="failed")
        execution = story.ci(story.build("2"), "feature", total=4, pay="failed", search="passed", go="running")
        gate = await story.gate(execution)
        assert (gate.result, gate.counts.pending) == (GateResult.PENDING, 2)
        assert gate.summary == (
            "Pending: 2 of 4 runs have not ended, and no ended run blocks; "
            '1 failure does not block (1 known on main: "Old name of pay").'
        )

    async def test_lists_blocking_reasons_first_then_by_name(self, story: StoredCiStory) -> None:
        story.main("1", b="failed", a="failed", d="passed", c="passed")
        failed = dict.fromkeys(("b", "a", "d", "c", "f"), "failed")
        gate = await story.gate(story.ci(story.build("2"), "feature", e="infra", **failed))  # type: ignore[arg-type]
        assert [reason.run.test_id for reason in gate.reasons] == ["c", "d", "f", "e", "a", "b"]
        assert [reason.rule.blocks for reason in gate.reasons] == [True] * 4 + [False] * 2
        assert gate.summary == (
            'Blocked: 2 tests newly broken ("Old name of c", "Old name of d"), '
            '1 failing test that was not run before ("Old name of f") and 1 test without a verdict ("Old name of e"); '
            '2 failures do not block (2 known on main: "Old name of a", "Old name of b").'
        )

    async def test_is_not_passed_if_no_run_passed(self, story: StoredCiStory) -> None:
        story.main("1", pay="failed")
        gate = await story.gate(story.ci(story.build("2"), "feature", pay="failed"))
        assert (gate.result, rules(gate)) == (GateResult.BLOCK, {"pay": KNOWN})
        assert gate.summary == (
            'Blocked: no run passed; 1 failure does not block (1 known on main: "Old name of pay").'
        )

    async def test_names_the_failures_that_do_not_block(self, story: StoredCiStory) -> None:
        story.main("1", a="failed", b="failed", c="failed", d="failed")
        story.quarantine("e", NOW + timedelta(days=2))
        failed = dict.fromkeys("abcde", "failed")
        gate = await story.gate(story.ci(story.build("2"), "feature", go="passed", **failed))  # type: ignore[arg-type]
        assert gate.result is GateResult.PASS
        assert gate.summary == (
            "Passed: 1 of 6 runs passed; 5 failures do not block "
            '(4 known on main: "Old name of a", "Old name of b", "Old name of c" and 1 more; '
            '1 in quarantine: "Name of e").'
        )

    async def test_says_what_ran_and_on_which_branch(self, story: StoredCiStory) -> None:
        execution = story.ci(story.build("1.0"), "feature", total=3, pay="passed", go="failed")
        gate = await story.gate(execution)
        assert gate.branch == "feature"
        assert gate.covers == 'Covers 2 tests on build 1.0: "Old name of go", "Old name of pay"; 1 run has not begun.'
        assert (await story.gate(story.ci(story.build("2"), pay="passed"))).branch is None

    async def test_says_what_simulated_devices_ran_instead_of_the_build(self, story: StoredCiStory) -> None:
        story.simulation = Simulation.BUILT_IN_MODEL
        execution = story.ci(story.build("1"), "feature", total=2, pay="passed", go="passed")
        assert (await story.gate(execution)).summary == (
            "Passed: all 2 runs passed. Simulated devices ran their built-in model instead of the build, of which this "
            "says nothing."
        )
        story.simulation = Simulation.MODEL
        story.run("pay", story.build("1"), "passed", execution=execution, app="ios")
        assert (await story.gate(execution)).summary.endswith(
            "In 2 of 3 runs simulated devices ran their built-in model instead of the build, of which this says "
            "nothing. In 1 of 3 runs simulated devices ran a model instead of the app."
        )

    async def test_says_in_how_many_runs_a_step_has_bound_another_element(self, story: StoredCiStory) -> None:
        story.bindings_changed = True
        execution = story.ci(story.build("1"), "feature", total=2, pay="passed", go="passed")
        gate = await story.gate(execution)
        assert (gate.result, gate.reasons) == (GateResult.PASS, [])
        assert gate.summary == (
            "Passed: all 2 runs passed. In 2 runs that passed, steps have bound other elements than in their last "
            "passes."
        )

    async def test_counts_a_test_once_and_names_the_first_three(self, story: StoredCiStory) -> None:
        build = story.build("1")
        execution = story.ci(build, "feature", total=7, a="failed", b="failed", c="failed", d="failed", e="passed")
        story.run("a", build, "failed", execution=execution, app="ios")
        story.run("e", build, "passed", execution=execution, app="ios")
        gate = await story.gate(execution)
        assert len(gate.reasons) == 5
        named = '"Old name of a", "Old name of b", "Old name of c" and 1 more'
        assert gate.summary == f"Blocked: 4 failing tests that were not run before ({named})."


class TestTheRule:
    async def test_is_quarantine_while_it_lasts_even_without_a_verdict(self, story: StoredCiStory) -> None:
        for test, until in (("pay", NOW + timedelta(days=2)), ("go", NOW + timedelta(days=2)), ("old", NOW)):
            story.quarantine(test, until)
        gate = await story.gate(story.ci(story.build("1"), "feature", pay="failed", go="infra", old="failed"))
        assert rules(gate) == {"pay": GateRule.QUARANTINED, "go": GateRule.QUARANTINED, "old": FIRST}
        pay = next(reason for reason in gate.reasons if reason.run.test_id == "pay")
        assert pay.detail == 'In quarantine until 2026-11-22 12:00 UTC, set by ci key: "Waits for the fix".'
        assert pay.quarantine
        assert pay.breakage

    async def test_gives_no_verdict_for_infrastructure_failures_and_cancellations(self, story: StoredCiStory) -> None:
        story.main("1", pay="infra", go="cancelled")
        gate = await story.gate(story.ci(story.build("2"), "feature", pay="infra", go="cancelled"))
        assert (gate.result, rules(gate)) == (GateResult.BLOCK, {"pay": GateRule.NO_VERDICT, "go": GateRule.NO_VERDICT})
        details = {reason.run.test_id: reason.detail for reason in gate.reasons}
        assert details["pay"] == "Ended without a verdict (unknown), so nothing is known of what it tests."
        assert details["go"] == "Was cancelled before it had a verdict."
        assert [reason.breakage for reason in gate.reasons] == [None, None]
        reasons = {reason.run.test_id: reason.run.failure_reason for reason in gate.reasons}
        assert reasons == {"pay": "went wrong", "go": None}

    async def test_gives_no_verdict_for_a_run_without_an_app(self, story: StoredCiStory) -> None:
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
            (
                "feature failed, other failed, feature here",
                FIRST,
                "Fails here, and has no verdict on any build of main.",
            ),
            ("main passed, main failed + main here", NEW, "Fails here, and passed on main"),
            ("main passed, main here, main failed", NEW, "Fails here, and passed on main"),
            ("main failed, main here, main passed", KNOWN, "Fails on main too"),
            ("main here, main passed", FIRST, "Fails here, and has no verdict on an earlier build of main."),
            ("main failed + main here", NEVER, "Fails here, and ran on main without ever passing."),
            ("main failed + feature here", NEVER, "Fails here, and ran on main without ever passing."),
            ("main infra, feature here", FIRST, "Fails here, and has no verdict on any build of main."),
            (
                "main passed + main passed + main infra, feature here",
                NEW,
                "Fails here, and passed on main: its newest run there, on build 1, passed at ",
            ),
            ("main failed, main passed + other passed, feature here", NEW, ""),
            ("main failed, - failed, main passed + other infra, - failed, feature here", NEW, ""),
            ("main failed, main passed + other passed, main here, main failed", NEW, ""),
            ("main passed, main failed, main failed + other failed, feature here", KNOWN, ""),
            ("- passed, - here", FIRST, UNKNOWN),
            ("- failed, - here", FIRST, UNKNOWN),
            ("new, - here", FIRST, UNKNOWN),
            ("main failed, - here", KNOWN, "Fails on main too: its only run on build 1 failed"),
            ("- here, main failed", FIRST, UNKNOWN),
            ("main passed, - here", NEW, "Fails here, and passed on main: its only run on build 1 passed"),
            ("main passed, - failed, feature here", NEW, ""),
            ("- failed, feature here", FIRST, "Fails here, and has no verdict on any build of main."),
            ("main failed, main infra + - passed, feature here", KNOWN, ""),
            ("main passed, main infra + - failed, feature here", NEW, ""),
        ],
    )
    async def test_depends_on_the_verdicts_of_other_builds(
        self, story: StoredCiStory, history: str, rule: GateRule, detail: str
    ) -> None:
        _, execution = story.history(history)
        actual_rule, sentence = await only(story, execution)
        assert (actual_rule, sentence[: len(detail)]) == (rule, detail)

    @pytest.mark.parametrize(("on_main", "by_hand", "rule"), [("passed", "failed", NEW), ("failed", "passed", KNOWN)])
    async def test_ignores_a_run_of_an_unknown_branch_on_a_build_of_the_base_branch(
        self, story: StoredCiStory, on_main: str, by_hand: str, rule: GateRule
    ) -> None:
        build = story.main("1", pay=on_main)
        story.run("pay", build, by_hand, execution=story.ci(build, total=1), version=2)
        assert (await only(story, story.ci(story.build("2"), "feature", pay="failed")))[0] is rule

    async def test_looks_at_the_base_branch_that_is_named(self, story: StoredCiStory) -> None:
        story.on("develop", "1", pay="failed")
        execution = story.ci(story.build("2"), "feature", pay="failed")
        assert (await only(story, execution))[0] is FIRST
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
        assert reason.rule is rule_of(told, place)


def rule_of(told: list[tuple[str | None, str]], place: int) -> GateRule:
    """The definition of docs/gate.md, for builds in the order of their upload."""
    own = told[place][0]
    others = [(at, branch, ending) for at, (branch, ending) in enumerate(told) if at != place and ending != "infra"]
    if own in ("main", None):
        others = [seen for seen in others if seen[0] < place]
    on_main = [ending for _, branch, ending in others if branch == "main"]
    if not on_main:
        return FIRST
    return KNOWN if on_main[-1] == "failed" else NEW

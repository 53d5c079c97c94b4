"""The gate in infrastructure storms, what it says of a run, and what it has not heard of yet."""

import asyncio

import pytest

from services.chassis.context import Caller, bind, limit_time
from services.chassis.errors import FailedPrecondition, NotFound, Unavailable
from services.reporting.model.reports.gate import GateResult, GateRule
from services.reporting.model.snapshots import ExecutionSnapshot
from services.reporting.storage.verdicts import STORM_BUILDS_SKIPPED
from services.reporting.usecases.gate import GateRequest, Gates
from services.reporting.usecases.report_sources import ReportSources
from tests.contract.reporting.store import MongoStore, StoredCiStory, expire
from tests.contract.reporting.test_gate import only, rules
from tests.fakes.chassis import FakeClock
from tests.fakes.reporting_story import NOW, ORG


@pytest.fixture
def story(store: MongoStore) -> StoredCiStory:
    return StoredCiStory(store)


STORM = dict.fromkeys(("a", "b", "c", "d", "pay"), "failed")


class TestStorms:
    async def test_a_storm_is_marked_and_blocks(self, story: StoredCiStory) -> None:
        story.main("1", **dict.fromkeys(STORM, "passed"))
        gate = await story.gate(story.ci(story.build("2"), "feature", **STORM))  # type: ignore[arg-type]
        assert (gate.result, gate.storm) == (GateResult.BLOCK, True)

    async def test_an_outage_on_the_base_branch_makes_no_failure_known(self, story: StoredCiStory) -> None:
        story.main("1", **dict.fromkeys(STORM, "passed"))
        story.main("2", **STORM)
        rule, detail = await only(story, story.ci(story.build("3"), "feature", pay="failed", a="passed"))
        assert rule is GateRule.NEWLY_BROKEN
        assert "on build 1" in detail

    @pytest.mark.parametrize("before", ["failed", None])
    async def test_an_outage_hides_no_pass_on_the_same_build(self, story: StoredCiStory, before: str | None) -> None:
        story.main("1", **({"pay": before} if before else {}))
        build = story.main("2", **dict.fromkeys(STORM, "passed"))
        story.ci(build, "main", **STORM)  # type: ignore[arg-type]
        assert (await only(story, story.ci(story.build("3"), "main", pay="failed")))[0] is GateRule.NEWLY_BROKEN

    async def test_a_test_that_only_failed_in_storms_never_passed(self, story: StoredCiStory) -> None:
        story.main("1", **STORM)
        execution = story.ci(story.build("2"), "feature", pay="failed", new="failed")
        assert rules(await story.gate(execution)) == {"pay": GateRule.NEVER_PASSED, "new": GateRule.NOT_RUN_BEFORE}

    async def test_more_outages_than_are_skipped_hide_no_pass(self, story: StoredCiStory) -> None:
        story.main("1", pay="passed")
        for number in range(STORM_BUILDS_SKIPPED + 2):
            story.main(f"2.{number}", **STORM)
        rule, detail = await only(story, story.ci(story.build("3"), "feature", pay="failed"))
        assert (rule, "on build 1" in detail) == (GateRule.NEWLY_BROKEN, True)

    async def test_a_storm_on_the_base_branch_makes_a_storm_known(self, story: StoredCiStory) -> None:
        story.main("1", **STORM)
        gate = await story.gate(story.ci(story.build("2"), "feature", go="passed", **STORM))  # type: ignore[arg-type]
        assert (gate.result, set(rules(gate).values())) == (GateResult.PASS, {GateRule.KNOWN_ON_BASE})


async def test_a_reason_has_current_names_the_failure_and_its_breakage(story: StoredCiStory) -> None:
    story.main("1", pay="passed")
    build = story.build("2")
    execution = story.ci(build, "feature", "c2", pay="failed")
    story.test("pay", "Pay by card")
    story.rename(build, "2.0")
    (reason,) = (await story.gate(execution)).reasons
    assert (reason.run.test_name, reason.run.build_version) == ("Pay by card", "2.0")
    assert (reason.run.app_id, reason.run.failure_reason) == ("app-1", "went wrong")
    assert reason.breakage
    assert reason.breakage.first_failing.version == "2.0"
    assert reason.breakage.commit_range == "c1..c2"


async def test_a_reason_describes_its_own_run_even_if_the_cell_has_a_newer_verdict(story: StoredCiStory) -> None:
    build = story.build("1")
    execution = story.ci(build, "feature", "c1", pay="failed")
    story.ci(build, "feature", "c1", pay="passed")
    (reason,) = (await story.gate(execution)).reasons
    assert reason.breakage
    assert reason.breakage.first_failing.version == "1"


class TestFreshness:
    async def test_unknown_runs_never_pass(self, story: StoredCiStory) -> None:
        execution = story.ci(story.build("1"), "feature", total=2, pay="passed")
        with pytest.raises(Unavailable) as caught:
            await story.gate(execution, min_ended=2, total=2)
        assert caught.value.retry_after
        with pytest.raises(Unavailable):
            await story.gate("just started", min_ended=1, total=1)

    async def test_an_execution_that_was_just_accepted_is_pending(self, story: StoredCiStory) -> None:
        gate = await story.gate("just started", min_ended=0, total=3)
        assert (gate.result, gate.counts.pending) == (GateResult.PENDING, 3)
        assert gate.summary == "Pending: 3 of 3 runs have not ended."

    async def test_an_execution_of_unknown_size_never_passes(self, story: StoredCiStory) -> None:
        story.run("pay", story.build("1"), "passed", execution="of unknown size")
        with pytest.raises(Unavailable):
            await story.gate("of unknown size")

    async def test_an_unknown_or_foreign_execution_is_not_found(self, story: StoredCiStory) -> None:
        execution = story.ci(story.build("1"), "feature", pay="passed")
        with pytest.raises(NotFound, match=r"^Execution not found$"):
            await story.gate("unknown")
        with bind(Caller("another")), pytest.raises(NotFound, match=r"^Execution not found$"):
            await story.gate(execution)

    async def test_an_execution_with_expired_runs_is_a_failed_precondition(self, story: StoredCiStory) -> None:
        execution = story.ci(story.build("1"), "feature", pay="passed")
        await story.fold()
        await expire(story.store.projections, [run_id for run_id, _ in story.tables.runs.rows()])
        with pytest.raises(FailedPrecondition) as caught:
            await story.gate(execution)
        assert caught.value.reason == "RUNS_EXPIRED"

    async def test_it_waits_for_the_runs_that_have_ended(self, story: StoredCiStory) -> None:
        """The lookup that comes after the fold sees them."""
        story.tell(ExecutionSnapshot("late", ORG, 1, 1))
        store = story.store
        gates = Gates(
            ReportSources(
                store.read_models, store.tests, store.verdicts, store.failures, FakeClock(NOW), ended_wait=3600
            )
        )
        heard = asyncio.create_task(gates.of(GateRequest("late", "main", min_ended=1, total=1)))
        await story.fold()
        story.run("pay", story.build("1"), "passed", execution="late")
        await story.fold()
        assert (await heard).result is GateResult.PASS

    async def test_it_answers_unavailable_before_the_deadline_of_the_caller(self, story: StoredCiStory) -> None:
        """A channel repeats what is unavailable: the last time that has to be said, not waited away."""
        execution = story.ci(story.build("1"), "feature", total=2, pay="passed")
        await story.fold()
        store = story.store
        gates = Gates(
            ReportSources(
                store.read_models, store.tests, store.verdicts, store.failures, FakeClock(NOW), ended_wait=3600
            )
        )
        with limit_time(0.5), pytest.raises(Unavailable):
            await gates.of(GateRequest(execution, "main", min_ended=2, total=2))

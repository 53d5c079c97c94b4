"""The gate of a build: each attached test by its newest verdict there, and what it says of the others."""

from datetime import timedelta

import pytest

from services.chassis.errors import NotFound, Unavailable
from services.reporting.model.attempts import BuildRef
from services.reporting.model.reports.gate import BuildGate, GateCounts, GateResult, GateRule
from services.reporting.model.snapshots import Simulation
from tests.contract.reporting.store import MongoStore, StoredCiStory, expire
from tests.fakes.reporting_story import NOW


@pytest.fixture
def story(store: MongoStore) -> StoredCiStory:
    return StoredCiStory(store)


async def gate_of(story: StoredCiStory, build: BuildRef, *attached: str) -> BuildGate:
    """The gate of the build after these tests are attached."""
    for test in attached:
        story.attach(test)
    return await story.build_gates.of(build.id, "main")


def rules(gate: BuildGate) -> dict[str, GateRule]:
    return {reason.run.test_id: reason.rule for reason in gate.reasons}


async def test_one_passing_execution_makes_no_build_green(story: StoredCiStory) -> None:
    story.main("1", pay="passed", go="passed", old="failed")
    build = story.on("feature", "2", pay="failed", go="failed", old="failed")
    story.ci(build, "feature", go="passed")
    gate = await gate_of(story, build, "pay", "go", "old")
    assert gate.result is GateResult.BLOCK
    assert rules(gate) == {"pay": GateRule.NEWLY_BROKEN, "old": GateRule.KNOWN_ON_BASE}
    assert gate.counts == GateCounts(total=3, passed=1, pending=0)
    assert gate.summary == (
        'Blocked: 1 test newly broken ("Old name of pay"); '
        '1 failure does not block (1 known on main: "Old name of old").'
    )
    assert gate.covers == "Covers 3 of 3 attached tests, by the newest verdict of each on build 2."
    assert {reason.run.execution_id for reason in gate.reasons} == {"ci-0002"}
    assert gate.reasons[0].breakage
    assert gate.reasons[0].breakage.commit_range == "c1..c2"


async def test_names_the_attached_tests_that_were_not_run(story: StoredCiStory) -> None:
    build = story.on("feature", "2", pay="passed", beside="failed", gone="failed")
    story.test("gone", "Gone", deleted=True)
    story.attach("gone")
    story.attach("pinned", pin="1")
    gate = await gate_of(story, build, "pay", "waits", "go")
    assert (gate.result, gate.reasons) == (GateResult.PASS, [])
    assert [name for _, name in gate.not_run] == ["Name of go", "Name of waits"]
    assert gate.summary == (
        'Passed: 1 of 3 attached tests passed; 2 tests were not run ("Name of go", "Name of waits").'
    )
    assert gate.covers == (
        "Covers 1 of 3 attached tests, by the newest verdict of each on build 2; "
        "1 test that ran on it is not attached and not judged."
    )


async def test_says_what_simulated_devices_ran_instead_of_the_build(story: StoredCiStory) -> None:
    build = story.on("feature", "1", pay="passed")
    story.simulation = Simulation.BUILT_IN_MODEL
    story.ci(build, "feature", go="passed")
    gate = await gate_of(story, build, "pay", "go")
    assert gate.summary == (
        "Passed: all 2 attached tests passed. In 1 of 2 runs simulated devices ran their built-in model instead of the "
        "build, of which this says nothing."
    )
    await expire(story.store.projections, [run_id for run_id, _ in story.tables.runs.rows()])
    assert (await gate_of(story, build)).summary == gate.summary


async def test_says_in_how_many_runs_a_step_has_bound_another_element(story: StoredCiStory) -> None:
    build = story.on("feature", "1", pay="passed")
    story.bindings_changed = True
    story.ci(build, "feature", go="passed")
    assert (await gate_of(story, build, "pay", "go")).summary.endswith(
        " passed. In 1 run that passed, steps have bound other elements than in their last passes."
    )


async def test_runs_without_a_verdict_block_unless_the_test_has_an_earlier_one(story: StoredCiStory) -> None:
    build = story.on("feature", "1", pay="passed", go="infra")
    story.ci(build, "feature", pay="infra", go="cancelled")
    gate = await gate_of(story, build, "pay", "go")
    assert (gate.result, rules(gate), gate.not_run) == (GateResult.BLOCK, {"go": GateRule.NO_VERDICT}, [])
    assert gate.covers == "Covers 1 of 2 attached tests, by the newest verdict of each on build 1."


@pytest.mark.parametrize(
    ("attached", "summary"),
    [
        ([], "Blocked: no test is attached to the app, so nothing was tested."),
        (["waits"], 'Blocked: no attached test passed; 1 test was not run ("Name of waits").'),
        (
            ["pay"],
            'Blocked: no attached test passed; 1 failure does not block (1 in quarantine: "Name of pay").',
        ),
    ],
    ids=["nothing attached", "nothing run", "nothing passed"],
)
async def test_is_not_passed_if_no_run_passed(story: StoredCiStory, attached: list[str], summary: str) -> None:
    build = story.on("feature", "1", pay="failed")
    story.quarantine("pay", NOW + timedelta(days=1))
    gate = await gate_of(story, build, *attached)
    assert (gate.result, gate.summary) == (GateResult.BLOCK, summary)


async def test_is_pending_while_runs_on_the_build_have_not_ended(story: StoredCiStory) -> None:
    build = story.on("feature", "1", pay="passed", go="running")
    gate = await gate_of(story, build, "pay", "go")
    assert (gate.result, gate.counts.pending) == (GateResult.PENDING, 1)
    assert gate.summary == ('Pending: 1 run has not ended, and nothing blocks yet; 1 test was not run ("Name of go").')


async def test_each_failure_is_judged_by_the_branch_of_its_own_run(story: StoredCiStory) -> None:
    """What main broke on this build is not known on main, and a later build of main tells nothing about it."""
    build = story.main("1", on_main="failed", by_hand="passed")
    story.ci(build, None, by_hand="failed", other="failed")
    story.ci(build, "feature", on_feature="failed")
    story.main("2", on_main="failed", other="failed", on_feature="failed")
    gate = await gate_of(story, build, "on_main", "other", "on_feature")
    assert rules(gate) == {
        "on_main": GateRule.NOT_RUN_BEFORE,
        "other": GateRule.NOT_RUN_BEFORE,
        "on_feature": GateRule.KNOWN_ON_BASE,
    }


async def test_a_storm_of_one_of_its_executions_is_marked(story: StoredCiStory) -> None:
    build = story.main("1", **dict.fromkeys("abcde", "failed"))
    gate = await gate_of(story, build, *"abcde")
    assert gate.storm
    assert not (await gate_of(story, story.main("2", a="failed"))).storm


async def test_remembers_the_failures_of_expired_runs(story: StoredCiStory) -> None:
    story.main("1", pay="passed")
    build = story.on("feature", "2", pay="failed", go="infra")
    await story.fold()
    await expire(story.store.projections, [run_id for run_id, _ in story.tables.runs.rows()])
    gate = await gate_of(story, build, "pay", "go")
    assert rules(gate) == {"pay": GateRule.NEWLY_BROKEN, "go": GateRule.NO_VERDICT}
    assert [reason.run.failure_reason for reason in gate.reasons] == ["went wrong", "went wrong"]
    assert gate.reasons[0].breakage
    assert gate.reasons[0].breakage.commit_range == "c1..c2"


async def test_an_unknown_build_is_not_found_or_not_known_yet(story: StoredCiStory) -> None:
    with pytest.raises(NotFound, match=r"^Build not found$"):
        await story.build_gates.of("unknown", "main")
    with pytest.raises(Unavailable):
        await story.build_gates.of("just uploaded", "main", 4)

"""Groups of failures: what is counted of them, how they are found, and what people wrote about them."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from services.chassis.errors import NotFound
from services.reporting.model.reports.failures import FailureReport
from services.reporting.model.reports.gate import GateRule
from services.reporting.model.snapshots import AppSnapshot, Failure
from services.reporting.model.triages import FailureState, TriageSnapshot
from services.reporting.model.variants import Variant
from services.reporting.ports import FailureFilter, RowPage
from services.reporting.storage.failure_migration import sum_up_failures
from services.reporting.storage.failures import MongoFailures
from tests.contract.reporting.store import MongoStore, StoredCiStory, StoredStory
from tests.fakes.reporting_story import APP, NOW, ORG

IBAN = Failure("assertion_failed", "IBAN DE89 3704 is refused", "assertVisible")
ALL = RowPage(0, 10)


async def found(story: StoredStory, **filter: Any) -> list[str]:
    page = await story.failures.page(FailureFilter(**filter), ALL)
    assert page.total == len(page.failures)
    return [listed.failure.sample_message for listed in page.failures]


async def report(story: StoredStory, search: str = "") -> FailureReport:
    """The report on the failure that was seen last of those that are found."""
    listed, *_ = (await story.failures.page(FailureFilter(pattern=search or None), ALL)).failures
    return await story.failures.get(listed.key)


async def write(story: StoredStory, state: FailureState = FailureState.KNOWN, **fields: Any) -> None:
    """Somebody writes about the failure that was seen last."""
    listed, *_ = (await story.failures.page(FailureFilter(), ALL)).failures
    nothing = dict.fromkeys(("fixed_in", "note", "ticket_url", "owner", "updated_by", "updated_at"))
    story.tell(TriageSnapshot(*listed.key, ORG, story.revision(), state, **nothing | fields))


async def test_a_group_counts_tests_builds_variants_and_days(story: StoredStory) -> None:
    story.app()
    story.test("pay", "Pay")
    old, new = story.build("1"), story.build("2")
    german, french = Variant("de", {"LOCALE": "de"}), Variant("fr", {"LOCALE": "fr"})
    story.run("pay", old, "failed", failure=IBAN, at=NOW - timedelta(days=2), variant=german)
    story.run("pay", new, variant=french)
    other = replace(IBAN, message="IBAN DE89 9999 is refused")
    story.run("refund", new, "failed", failure=other, at=NOW - timedelta(hours=1), run_id="last")
    story.run("refund", None, "failed", failure=IBAN, at=NOW - timedelta(hours=2))
    story.run("pay", new, "passed")
    known = await report(story)
    failure = known.listed.failure
    assert (known.listed.app_name, failure.reason, failure.count) == ("Shop", "IBAN DE89 <n> is refused", 3)
    assert (failure.sample_message, failure.last.run_id, failure.last.build_version) == (other.message, "last", "2")
    assert (failure.first.at, failure.first.test_id) == (NOW - timedelta(days=2), "pay")
    assert failure.days == (("2026-11-18", 1), ("2026-11-20", 2))
    assert {test: seen.count for test, seen in known.tests.items()} == {"refund": 1, "pay": 1}
    assert (set(known.builds), known.variants, set(known.known_tests)) == ({old.id, new.id}, {"LOCALE=de": 1}, {"pay"})
    assert known.counted_all


async def test_failures_are_found_by_part_of_either_message_over_all_apps(story: StoredStory) -> None:
    story.app()
    story.tell(AppSnapshot("app-2", ORG, story.revision(), False, "Bank", None))
    story.run("pay", story.build("1"), "failed", failure=IBAN)
    story.run("book", None, "failed", app="app-2", failure=Failure("app_crash", "Crashed (a.*b)"), at=NOW)
    assert await found(story) == ["Crashed (a.*b)", IBAN.message]
    assert await found(story, pattern="de89 3704") == [IBAN.message]
    assert await found(story, pattern=r"de89 <n>") == [IBAN.message]
    assert await found(story, app_id="app-2") == ["Crashed (a.*b)"]
    assert await found(story, category="assertion_failed") == [IBAN.message]
    await write(story)
    assert await found(story, state=FailureState.KNOWN) == ["Crashed (a.*b)"]
    assert await found(story, state=FailureState.OPEN) == [IBAN.message]
    story.tell(AppSnapshot("app-2", ORG, story.revision(), True, "Bank", None))
    assert await found(story) == [IBAN.message]


async def test_a_fixed_failure_is_reopened_by_a_build_that_is_newer_than_the_fix(story: StoredStory) -> None:
    story.app()
    builds = [story.build(version) for version in ("1", "2", "3")]
    story.run("pay", builds[1], "failed")
    await write(story, FailureState.FIXED, fixed_in="2")
    assert (await report(story)).listed.reopened is False
    assert await found(story, state=FailureState.OPEN) == []
    story.run("pay", builds[2], "failed")
    assert (await report(story)).listed.reopened is True
    assert await found(story, state=FailureState.OPEN) == await found(story, state=FailureState.FIXED) != []
    await write(story, FailureState.FIXED, fixed_in="9")
    assert (await report(story)).listed.reopened is None
    assert await found(story, state=FailureState.OPEN) == []


async def test_a_list_says_since_when_failures_were_searched(story: StoredStory) -> None:
    story.app()
    for days in (1, 2, 3):
        failure = Failure("app_crash", "Crashed in " + "abc"[days - 1])
        story.run("pay", story.build(str(days)), "failed", failure=failure, at=NOW - timedelta(days=days))
    assert len(await found(story)) == 3
    found_all = await MongoFailures(story.store.mongo, searched=3).page(FailureFilter(), ALL)
    found_some = await MongoFailures(story.store.mongo, searched=2).page(FailureFilter(), ALL)
    assert (found_all.total, found_all.searched_until) == (3, None)
    assert (found_some.total, found_some.searched_until) == (2, NOW - timedelta(days=2))


async def test_what_people_wrote_is_named_by_gate_comparison_and_matrix_and_decides_nothing(
    store: MongoStore,
) -> None:
    story = StoredCiStory(store)
    story.app()
    story.attach("pay")
    story.main("1", pay="passed")
    new = story.build("2")
    execution = story.ci(new, "feature", "c2", pay="failed")
    before = await story.gate(execution)
    await write(story, note="Waits for\nthe bank", ticket_url="https://tickets.example/7", owner="Ana")
    gate = await story.gate(execution)
    assert (gate.result, [reason.rule for reason in gate.reasons]) == (before.result, [GateRule.NEWLY_BROKEN])
    [reason] = gate.reasons
    said = ' The failure is known: "Waits for the bank", https://tickets.example/7, owner Ana.'
    assert reason.detail == before.reasons[0].detail + said
    [row] = (await story.comparisons.compare(new.id)).newly_failing
    matrix = await story.apps.matrix(APP, RowPage(0, 10))
    assert row.failure is not None
    assert reason.triage == row.triage == matrix.triages[row.failure.fingerprint]


async def test_a_failure_that_nobody_has_seen_is_not_found(story: StoredStory) -> None:
    story.app()
    with pytest.raises(NotFound, match="Failure not found"):
        await story.failures.get((APP, "0123456789abcdef"))


async def test_the_migration_sums_up_the_groups_that_there_are(story: StoredStory) -> None:
    story.app()
    old, new = story.build("1"), story.build("2")
    story.run("pay", old, "failed", failure=IBAN, at=NOW - timedelta(days=2))
    story.run("pay", new, "failed", failure=IBAN, at=NOW - timedelta(days=1))
    expected = (await report(story)).listed.failure
    database = story.store.mongo.database
    await database["failures"].delete_many({})
    await database["failure_groups"].update_many({}, {"$unset": {"app_id": ""}})
    await sum_up_failures(story.store.mongo, 0)
    migrated = await report(story)
    nameless = replace(
        expected, days=(), first=replace(expected.first, test_name=""), last=replace(expected.last, test_name="")
    )
    assert migrated.listed.failure == nameless
    assert set(migrated.builds) == {old.id, new.id}

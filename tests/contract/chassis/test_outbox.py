import pytest
from mobiletest.catalog.v1 import apps_pb2

from services.chassis.context import Caller, bind
from services.chassis.events import Event
from services.chassis.migrations import migrate
from services.chassis.mongo import Mongo, Session
from services.chassis.outbox import FRESH_LIMIT, MAX_ROW_BYTES, MIGRATION, OUTBOX, Outbox, to_events
from tests.fakes.chassis import FakeClock


@pytest.fixture
async def outbox(mongo: Mongo) -> Outbox:
    await migrate(mongo, [MIGRATION])
    return Outbox(mongo, "tests", FakeClock())


def an_event(outbox: Outbox, *, subject: str | None = None, sequence: int = 0) -> Event:
    return outbox.event("t", "k", apps_pb2.App(name="x"), subject=subject, sequence=sequence)


async def store(mongo: Mongo, outbox: Outbox, *events: Event) -> None:
    async def work(session: Session) -> None:
        await outbox.add(session, events)

    await mongo.transaction(work)


async def test_an_event_carries_its_message_and_the_trace_of_the_caller(outbox: Outbox) -> None:
    with bind(Caller("org", traceparent="00-a-b-01")):
        event = an_event(outbox)
    assert event.type == "mobiletest.catalog.v1.App"
    assert apps_pb2.App.FromString(event.payload).name == "x"
    assert (event.source, event.traceparent) == ("tests", "00-a-b-01")


async def test_events_are_stored_with_the_transaction(mongo: Mongo, outbox: Outbox) -> None:
    async def work(session: Session) -> None:
        await outbox.add(session, [an_event(outbox)])
        raise LookupError("no")

    with pytest.raises(LookupError):
        await mongo.transaction(work)
    assert await mongo.collection(OUTBOX).count_documents({}) == 0
    await store(mongo, outbox, an_event(outbox))
    assert await mongo.collection(OUTBOX).count_documents({"pending": True}) == 1


async def test_adding_no_events_stores_nothing(mongo: Mongo, outbox: Outbox) -> None:
    await store(mongo, outbox)
    assert await mongo.collection(OUTBOX).count_documents({}) == 0


async def test_the_history_of_a_subject_is_in_order(mongo: Mongo, outbox: Outbox) -> None:
    events = [an_event(outbox, subject="e-1", sequence=n) for n in (3, 1, 2)]
    await store(mongo, outbox, *events, an_event(outbox, subject="e-2", sequence=9), an_event(outbox))
    log = await outbox.history("e-1")
    assert [event.sequence for event in log] == [1, 2, 3]
    assert set(log) == set(events)
    assert [event.sequence for event in await outbox.history("e-1", after=2)] == [3]
    assert len(await outbox.history("e-1", limit=2)) == 2


async def test_events_that_are_stored_together_share_a_row_of_a_limited_size(mongo: Mongo, outbox: Outbox) -> None:
    """With those of one subject go those without that follow them."""
    large = outbox.event("t", "k", apps_pb2.App(description="x" * MAX_ROW_BYTES), subject="e-1", sequence=5)
    first = [an_event(outbox, subject="e-1", sequence=n) for n in (1, 2)]
    events = [*first, an_event(outbox), an_event(outbox, subject="e-2", sequence=1), large]
    last = [an_event(outbox, subject="e-1", sequence=n) for n in range(6, 70)]
    await store(mongo, outbox, *events, *last)
    documents = await mongo.collection(OUTBOX).find().sort("sequence", 1).to_list(None)
    rows = [[(event.subject, event.sequence) for event in to_events(document)] for document in documents]
    assert rows[:2] == [[("e-2", 1)], [("e-1", 1), ("e-1", 2), (None, 0)]]
    assert [[sequence for _, sequence in row] for row in rows[2:]] == [[5], list(range(6, 70))]
    assert {(document["subject"], document["pending"]) for document in documents} == {("e-1", True), ("e-2", True)}
    assert [event.sequence for event in await outbox.history("e-1")] == [1, 2, *range(5, 70)]
    assert [event.sequence for event in await outbox.history("e-1", after=1, limit=2)] == [2, 5]


async def test_publish_soon_never_blocks_and_is_bounded(outbox: Outbox) -> None:
    event = an_event(outbox)
    for _ in range(FRESH_LIMIT // 5 + 1):
        outbox.publish_soon([event] * 5)
    assert outbox.fresh_events == FRESH_LIMIT
    assert sum(len(row.events) for row in await outbox.take_fresh(12)) == 15
    assert outbox.fresh_events == FRESH_LIMIT - 15


async def test_sent_events_are_retained_for_seven_days(mongo: Mongo, outbox: Outbox) -> None:
    indexes = await mongo.collection(OUTBOX).index_information()
    assert indexes["expiry"]["expireAfterSeconds"] == 7 * 24 * 3600
    assert indexes["expiry"]["key"] == [("sent_at", 1)]


async def test_the_history_of_a_subject_uses_an_index(mongo: Mongo, outbox: Outbox) -> None:
    """Every watcher of an execution asks; a scan would cost more with each execution there ever was."""
    await store(mongo, outbox, *(an_event(outbox, subject=f"e-{n}", sequence=1) for n in range(50)))
    level = {"profile": 2, "filter": {"ns": f"{mongo.database.name}.{OUTBOX}", "op": "query"}}
    await mongo.database.command(level)
    await outbox.history("e-7")
    await mongo.database.command({"profile": 0})
    looked = await mongo.database["system.profile"].find_one({"planSummary": {"$exists": True}})
    assert looked is not None
    assert "IXSCAN" in looked["planSummary"]
    assert looked["docsExamined"] == 1

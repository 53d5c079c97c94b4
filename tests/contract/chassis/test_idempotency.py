import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

import pytest

from services.chassis.context import Caller
from services.chassis.errors import AlreadyExists, FailedPrecondition, ResourceExhausted, Unavailable
from services.chassis.idempotency import (
    FRESH_SECONDS,
    LEASE_SECONDS,
    MIGRATION,
    RECORDS,
    Idempotency,
    RecordLimits,
    StoredResponse,
    make_quota_index,
)
from services.chassis.ids import new_id
from services.chassis.migrations import Migration, migrate
from services.chassis.mongo import Mongo
from tests.eventually import eventually
from tests.fakes.chassis import FakeClock

CALLER = Caller("org-1", idempotency_key="key-1")


class Work:
    """A creation that answers with a new id."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    async def __call__(self) -> bytes:
        self.ids.append(new_id())
        return self.ids[-1].encode()


@pytest.fixture
async def idempotency(mongo: Mongo) -> Idempotency:
    await migrate(mongo, [MIGRATION, Migration("0001_quota", make_quota_index)])
    return Idempotency(mongo)


async def run_once(
    idempotency: Idempotency, work: Work, *, caller: Caller = CALLER, body: bytes = b"body"
) -> StoredResponse:
    return await idempotency.run_once(caller, "/s/Create", body, work)


async def test_a_repeated_request_gets_the_first_response(idempotency: Idempotency) -> None:
    work = Work()
    first, second = await run_once(idempotency, work), await run_once(idempotency, work)
    assert first.response == second.response
    assert (first.replayed, second.replayed) == (False, True)
    assert len(work.ids) == 1


async def test_another_request_with_the_same_key_is_refused(idempotency: Idempotency) -> None:
    await run_once(idempotency, Work())
    with pytest.raises(AlreadyExists) as error:
        await run_once(idempotency, Work(), body=b"other")
    assert error.value.reason == "IDEMPOTENCY_KEY_REUSED"


async def test_organisations_do_not_share_keys(idempotency: Idempotency) -> None:
    work = Work()
    await run_once(idempotency, work)
    await run_once(idempotency, work, caller=Caller("org-2", idempotency_key="key-1"))
    assert len(set(work.ids)) == 2


async def test_a_failed_request_may_be_retried(idempotency: Idempotency) -> None:
    async def fail() -> bytes:
        raise FailedPrecondition("not now")

    with pytest.raises(FailedPrecondition):
        await idempotency.run_once(CALLER, "/s/Create", b"body", fail)
    assert not (await run_once(idempotency, Work())).replayed


async def test_a_repeat_during_the_first_request_is_to_come_again(idempotency: Idempotency) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def slow() -> bytes:
        begun.set()
        await go.wait()
        return b"done"

    first = asyncio.create_task(idempotency.run_once(CALLER, "/s/Create", b"body", slow))
    await begun.wait()
    with pytest.raises(Unavailable) as error:
        await run_once(idempotency, Work())
    assert error.value.reason == "IDEMPOTENCY_KEY_IN_FLIGHT"
    assert 1 <= (error.value.retry_after or 0) <= LEASE_SECONDS
    go.set()
    assert (await first).response == b"done"


async def test_one_of_many_concurrent_requests_does_the_work(idempotency: Idempotency) -> None:
    work = Work()
    results = await asyncio.gather(*(run_once(idempotency, work) for _ in range(50)), return_exceptions=True)
    assert len(work.ids) == 1
    assert all(isinstance(result, StoredResponse | Unavailable) for result in results)


async def test_a_long_request_keeps_its_claim(idempotency: Idempotency, mongo: Mongo) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def slow() -> bytes:
        begun.set()
        await go.wait()
        return b"done"

    async def claim_end() -> datetime:
        record = await mongo.collection(RECORDS).find_one({})
        assert record is not None
        return record["claimed_until"]

    first = asyncio.create_task(idempotency.run_once(CALLER, "/s/Create", b"body", slow))
    await begun.wait()
    end = await claim_end()
    await eventually(lambda: _after(claim_end, end))
    go.set()
    assert (await first).response == b"done"


async def _after(read: Callable[[], Awaitable[datetime]], earlier: datetime) -> bool:
    return await read() > earlier


async def test_the_claim_of_a_dead_process_expires_and_ids_stay_the_same(
    idempotency: Idempotency, mongo: Mongo
) -> None:
    work = Work()
    await run_once(idempotency, work)
    crashed = {"$set": {"state": "in_flight", "claimed_until": {"$subtract": ["$$NOW", 1]}}}
    await mongo.collection(RECORDS).update_many({}, [crashed])
    assert not (await run_once(idempotency, work)).replayed
    assert work.ids[0] == work.ids[1]


async def test_records_expire_after_a_day(idempotency: Idempotency, mongo: Mongo) -> None:
    await run_once(idempotency, Work())
    (age,) = await mongo.aggregate(RECORDS, [{"$project": {"left": {"$subtract": ["$expires_at", "$$NOW"]}}}])
    assert 23.9 < age["left"] / 3_600_000 <= 24
    indexes = await mongo.collection(RECORDS).index_information()
    assert indexes["expiry"]["expireAfterSeconds"] == 0


def limited(mongo: Mongo, clock: FakeClock | None = None, **limits: int) -> Idempotency:
    return Idempotency(mongo, RecordLimits(**limits), clock)


def with_key(key: str, org_id: str = "org-1") -> Caller:
    return Caller(org_id, idempotency_key=key)


async def refusal(idempotency: Idempotency, work: Work, caller: Caller) -> ResourceExhausted | None:
    try:
        await run_once(idempotency, work, caller=caller)
    except ResourceExhausted as error:
        return error
    return None


async def test_an_organisation_has_a_limited_number_of_records(idempotency: Idempotency, mongo: Mongo) -> None:
    """A new key beyond it does no work; a key that was used still gets its response, and others are not affected."""
    small, work = limited(mongo, records=2), Work()
    assert [await refusal(small, work, with_key(key)) for key in ("a", "b")] == [None, None]
    refused = await refusal(small, work, with_key("c"))
    assert refused is not None
    assert (refused.reason, refused.metadata["limit"]) == ("LIMIT_REACHED", "idempotency_records")
    assert 23.9 * 3600 < (refused.retry_after or 0) <= 24 * 3600 + 60
    assert len(work.ids) == 2
    assert (await run_once(small, work, caller=with_key("a"))).replayed
    assert await refusal(small, work, with_key("c", "org-2")) is None


async def test_an_organisation_has_a_limited_number_of_bytes_in_responses(
    idempotency: Idempotency, mongo: Mongo
) -> None:
    clock, work = FakeClock(), Work()
    small = limited(mongo, clock, bytes=40)  # an id has 36
    assert await refusal(small, work, with_key("a")) is None
    assert await refusal(small, work, with_key("b")) is None
    for process in (small, limited(mongo, bytes=40)):
        refused = await refusal(process, work, with_key("c"))
        assert refused is not None
        assert refused.metadata["limit"] == "idempotency_bytes"


async def test_concurrent_requests_do_not_exceed_the_limit_of_records(idempotency: Idempotency, mongo: Mongo) -> None:
    small, work = limited(mongo, records=5), Work()
    outcomes = await asyncio.gather(*(refusal(small, work, with_key(f"key-{n}")) for n in range(30)))
    assert (sum(outcome is None for outcome in outcomes), len(work.ids)) == (5, 5)


async def test_expired_and_failed_requests_take_no_room(idempotency: Idempotency, mongo: Mongo) -> None:
    async def fail() -> bytes:
        raise FailedPrecondition("not now")

    clock, work = FakeClock(), Work()
    small = limited(mongo, clock, records=1)
    with pytest.raises(FailedPrecondition):
        await small.run_once(with_key("a"), "/s/Create", b"body", fail)
    clock.advance(FRESH_SECONDS)
    assert await refusal(small, work, with_key("b")) is None
    assert await refusal(small, work, with_key("c")) is not None
    await mongo.collection(RECORDS).delete_many({})  # as MongoDB does with those that have expired
    clock.advance(FRESH_SECONDS)
    assert await refusal(small, work, with_key("c")) is None

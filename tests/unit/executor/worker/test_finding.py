"""How a worker finds runs."""

from dataclasses import replace

import pytest

from services.chassis.events import InvalidMessage
from services.executor.model.runs import Platform
from services.executor.worker.finding import Requests, Search
from services.executor.worker.worker import Worker
from tests.fakes.executor import FakeAttempts, FakeExecutions, plan
from tests.unit.executor.worker.making import started


def make(store: FakeExecutions, *, slots: int = 2) -> Worker:
    return Worker(store, FakeAttempts(blocking=True), name="worker-1", slots=slots)


async def test_a_request_is_claimed() -> None:
    store = FakeExecutions()
    [key] = await started(store)
    worker = make(store)
    await Requests(store, worker, Platform.ANDROID).handle([e for e in store.events if not e.subject])
    assert list(worker.held) == [key.run_id]


async def test_requests_that_are_done_or_unknown_or_of_another_type_are_passed_over() -> None:
    store, other = FakeExecutions(), FakeExecutions()
    await started(store)
    await started(other)
    worker = make(other)
    await Requests(other, worker, Platform.ANDROID).handle(store.events)
    assert not worker.held


async def test_requests_beyond_the_room_are_left_to_the_search() -> None:
    store = FakeExecutions()
    await started(store, plan(), plan(), plan())
    worker = make(store)
    requests = Requests(store, worker, Platform.ANDROID)
    assert requests.capacity() == 2
    await requests.handle([e for e in store.events if not e.subject])
    assert (len(worker.held), requests.capacity()) == (2, 0)


async def test_a_request_that_cannot_be_read_is_invalid() -> None:
    store = FakeExecutions()
    await started(store)
    [request] = [e for e in store.events if not e.subject]
    broken = replace(request, payload=b"\xff\xff")
    with pytest.raises(InvalidMessage) as raised:
        await Requests(store, make(store), Platform.ANDROID).handle([broken])
    assert raised.value.event is broken


async def test_the_search_fills_every_slot_with_what_nobody_told_of() -> None:
    store = FakeExecutions()
    await started(store, plan(), plan(platform=Platform.IOS), plan())
    worker = make(store, slots=8)
    await Search(store, worker).fill()
    assert len(worker.held) == 3


async def test_the_search_stops_when_the_slots_are_full() -> None:
    store = FakeExecutions()
    await started(store, *(plan() for _ in range(20)))
    worker = make(store, slots=4)
    await Search(store, worker).fill()
    assert len(worker.held) == 4

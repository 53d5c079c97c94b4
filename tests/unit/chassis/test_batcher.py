"""Requests that share calls: what a Batcher promises to each of them."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from services.chassis import context
from services.chassis.batcher import Batcher, run_in_halves
from services.chassis.context import Caller
from services.chassis.errors import Aborted, NotFound, Unavailable
from tests.eventually import eventually

ONE, OTHER = Caller("org-1", request_id="first"), Caller("org-2")


class Store:
    """Knows every key but "missing"; holds its answers until `release`. `error` is what every call ends with, or calls
    with a key of `broken`; keys of `left_out` have an outcome only when they are alone.
    """

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.callers: list[Caller] = []
        self.gate = asyncio.Event()
        self.error: Exception | None = None
        self.broken: dict[str, Exception] = {}
        self.left_out: set[str] = set()
        self.finished = 0

    async def fetch(self, keys: Sequence[str]) -> Mapping[str, str | Exception]:
        self.calls.append(list(keys))
        self.callers.append(context.current())
        await self.gate.wait()
        self.finished += 1
        if self.error is not None:
            raise self.error
        for key in keys:
            if key in self.broken:
                raise self.broken[key]
        return {
            key: NotFound("missing") if key == "missing" else key.upper()
            for key in keys
            if len(keys) == 1 or key not in self.left_out
        }


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def batches(store: Store) -> Batcher[str, str]:
    return Batcher(store.fetch)


async def outcomes(batches: Batcher[str, str], *keys: str) -> list[str | BaseException]:
    """Of requests that come at the same time."""
    return await asyncio.gather(*(batches.get(ONE, key, 5) for key in keys), return_exceptions=True)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_the_first_read_starts_at_once_and_the_rest_form_a_batch(
    store: Store, batches: Batcher[str, str]
) -> None:
    joined = [batches.join(ONE, [key]) for key in "abcdef"]
    await settle()
    assert store.calls == [["a"]]
    store.gate.set()
    results_by_caller = [await batch.results(1) for batch in joined]
    assert store.calls == [["a"], ["b", "c", "d", "e", "f"]]
    assert [results[key] for results, key in zip(results_by_caller, "abcdef", strict=True)] == list("ABCDEF")


async def test_a_slow_call_delays_the_next_for_a_while_and_calls_are_bounded(store: Store) -> None:
    batches = Batcher(store.fetch, max_wait=0, max_in_flight=3)
    for key in "abcde":
        batches.join(ONE, [key])
        await eventually(lambda: len(store.calls) == min(3, 1 + "abcde".index(key)))  # noqa: B023
    assert store.calls == [["a"], ["b"], ["c"]]
    store.gate.set()
    await eventually(lambda: store.calls == [["a"], ["b"], ["c"], ["d", "e"]])


async def test_a_key_occurs_once_per_call(store: Store, batches: Batcher[str, str]) -> None:
    batches.join(ONE, ["x"])
    later = [batches.join(ONE, ["a", "b"]), batches.join(ONE, ["b", "c"])]
    store.gate.set()
    assert (await later[0].results(1))["b"] == (await later[1].results(1))["b"] == "B"
    assert store.calls == [["x"], ["a", "b", "c"]]


async def test_organisations_never_share_a_call_made_as_the_first_caller(
    store: Store, batches: Batcher[str, str]
) -> None:
    for caller in (ONE, ONE, OTHER, OTHER):
        batches.join(caller, ["a"])
    store.gate.set()
    await settle()
    assert [caller.org_id for caller in store.callers] == ["org-1", "org-2", "org-1", "org-2"]


async def test_a_batch_has_no_more_keys_than_allowed(store: Store) -> None:
    batches = Batcher(store.fetch, max_items=3)
    joined = [batches.join(ONE, keys) for keys in (["x"], ["a", "b"], ["c", "d"], ["e"])]
    store.gate.set()
    for batch in joined:
        await batch.results(1)
    assert store.calls == [["x"], ["a", "b"], ["c", "d", "e"]]


async def test_each_request_has_its_own_timeout(store: Store, batches: Batcher[str, str]) -> None:
    first, second = batches.join(ONE, ["a"]), batches.join(ONE, ["a"])
    with pytest.raises(TimeoutError):
        await first.results(0.01)
    patient = asyncio.create_task(second.results(5))
    store.gate.set()
    assert await patient == {"a": "A"}


async def test_an_error_reaches_only_the_requests_of_its_call(store: Store) -> None:
    store.error = Unavailable("down")
    batches = Batcher(store.fetch)
    first, second = batches.join(ONE, ["a"]), batches.join(ONE, ["b"])
    store.gate.set()
    with pytest.raises(Unavailable):
        await first.results(1)
    store.error = None
    assert await second.results(1) == {"b": "B"}


async def test_a_cancelled_request_does_not_cancel_the_call(store: Store, batches: Batcher[str, str]) -> None:
    batches.join(ONE, ["x"])
    leaving, staying = (asyncio.create_task(batches.join(ONE, ["a"]).results(5)) for _ in range(2))
    await settle()
    leaving.cancel()
    store.gate.set()
    assert await staying == {"a": "A"}


async def test_the_call_is_cancelled_with_its_last_request(store: Store, batches: Batcher[str, str]) -> None:
    leaving = [asyncio.create_task(batches.join(ONE, ["a"]).results(5)) for _ in range(2)]
    await settle()
    for task in leaving:
        task.cancel()
    await settle()
    store.gate.set()
    assert await batches.join(ONE, ["b"]).results(1) == {"b": "B"}
    assert leaving[0].cancelled()


async def test_a_batch_gathers_the_reads_of_the_next_turns(store: Store) -> None:
    store.gate.set()
    batches = Batcher(store.fetch, turns=5)
    joined = []
    for key in "abc":
        joined.append(batches.join(ONE, [key]))
        await asyncio.sleep(0)
    for batch in joined:
        assert await batch.results(1) == {"a": "A", "b": "B", "c": "C"}
    await settle()
    assert store.calls == [["a", "b", "c"]]
    assert not batches.is_busy("org-1")


async def test_a_batch_gathers_for_a_limited_number_of_turns(store: Store) -> None:
    batches = Batcher(store.fetch, turns=3)
    for key in "abcdefgh":
        batches.join(ONE, [key])
        await asyncio.sleep(0)
    assert len(store.calls) == 1
    assert 1 < len(store.calls[0]) < len("abcdefgh")
    store.gate.set()
    await eventually(lambda: not batches.is_busy("org-1"))


async def test_a_gathering_batch_without_requests_is_never_called(store: Store) -> None:
    batches = Batcher(store.fetch, turns=5)
    leaving = asyncio.create_task(batches.join(ONE, ["a"]).results(5))
    await asyncio.sleep(0)
    leaving.cancel()
    await settle()
    assert store.calls == []
    assert not batches.is_busy("org-1")


async def test_a_batch_without_requests_is_never_called(store: Store, batches: Batcher[str, str]) -> None:
    batches.join(ONE, ["a"])
    leaving = asyncio.create_task(batches.join(ONE, ["b"]).results(5))
    await settle()
    leaving.cancel()
    await settle()
    store.gate.set()
    await settle()
    assert store.calls == [["a"]]
    assert not batches.is_busy("org-1")


async def test_an_abandoned_item_is_left_out(store: Store, batches: Batcher[str, str]) -> None:
    batches.join(ONE, ["a"])
    leaving, staying = (asyncio.create_task(batches.get(ONE, key, 5)) for key in "bc")
    await settle()
    leaving.cancel()
    store.gate.set()
    assert await staying == "C"
    assert store.calls == [["a"], ["c"]]


async def test_a_call_that_finishes_is_not_cancelled_with_its_last_request(store: Store) -> None:
    batches = Batcher(store.fetch, finishes=True)
    leaving = asyncio.create_task(batches.get(ONE, "a"))
    await settle()
    leaving.cancel()
    await settle()
    store.gate.set()
    await settle()
    assert store.finished == 1
    assert not batches.is_busy("org-1")


async def test_a_queue_may_be_of_all_organisations(store: Store) -> None:
    batches = Batcher(store.fetch, turns=1)
    store.gate.set()
    await asyncio.gather(batches.get(ONE, "a", queue="all"), batches.get(OTHER, "b", queue="all"))
    assert store.calls == [["a", "b"]]


async def test_a_queue_without_room_for_slow_calls_makes_one_after_the_other(store: Store) -> None:
    batches = Batcher(store.fetch, max_wait=0, max_in_flight=1)
    joined = [batches.join(ONE, [key]) for key in "abc"]
    await settle()
    assert store.calls == [["a"]]
    store.gate.set()
    for request in joined:
        await request.results(1)
    assert store.calls == [["a"], ["b", "c"]]


async def test_an_outcome_that_is_an_error_reaches_only_the_requests_of_its_item(
    store: Store, batches: Batcher[str, str]
) -> None:
    store.gate.set()
    *others, refused = await outcomes(batches, "x", "a", "missing")
    assert others == ["X", "A"]
    assert isinstance(refused, NotFound)


async def test_a_call_that_fails_is_made_again_in_halves_in_order(store: Store) -> None:
    store.gate.set()
    error = store.broken["c"] = Aborted("c")
    batches = Batcher(store.fetch, turns=1, splits=lambda error: isinstance(error, Aborted))
    assert await outcomes(batches, *"abcd") == ["A", "B", error, "D"]
    assert store.calls == [["a", "b", "c", "d"], ["a", "b"], ["c", "d"], ["c"], ["d"]]


async def test_an_error_that_does_not_split_is_that_of_all_items_of_its_call(store: Store) -> None:
    store.gate.set()
    error = store.broken["c"] = Unavailable("down")
    batches = Batcher(store.fetch, turns=1, splits=lambda error: isinstance(error, Aborted))
    assert await outcomes(batches, *"abcd") == [error] * 4
    assert store.calls == [["a", "b", "c", "d"]]


async def test_requests_of_one_half_do_not_wait_for_the_other(store: Store) -> None:
    release = asyncio.Event()

    async def fetch(keys: Sequence[str]) -> Mapping[str, str]:
        if len(keys) > 1:
            raise Aborted("split")
        if keys == ["b"]:
            await release.wait()
        return {key: key.upper() for key in keys}

    batches = Batcher(fetch, turns=1, splits=lambda _: True)
    first, second = batches.join(ONE, ["a"]), batches.join(ONE, ["b"])
    assert (await first.results(1))["a"] == "A"
    release.set()
    assert (await second.results(1))["b"] == "B"


async def test_items_that_a_call_leaves_out_are_run_alone(store: Store) -> None:
    store.gate.set()
    store.left_out = {"b", "d"}
    batches = Batcher(store.fetch, turns=1)
    assert await outcomes(batches, *"abcd") == ["A", "B", "C", "D"]
    assert store.calls == [["a", "b", "c", "d"], ["b"], ["d"]]


async def test_an_item_without_an_outcome_is_an_error_of_its_request() -> None:
    async def forgetful(_: Sequence[str]) -> Mapping[str, str]:
        return {}

    assert isinstance((await outcomes(Batcher(forgetful), "a"))[0], LookupError)


async def test_the_requests_of_a_call_that_is_stopped_get_an_answer(store: Store) -> None:
    batches = Batcher(store.fetch, finishes=True)
    waiting = asyncio.create_task(batches.get(ONE, "a"))
    await settle()
    for task in asyncio.all_tasks() - {asyncio.current_task(), waiting}:
        task.cancel()
    with pytest.raises(Unavailable, match="shutting down"):
        await waiting


@pytest.mark.parametrize("broken", [set(), {0}, {7}, {3, 4}, set(range(8))])
async def test_halves_find_what_fails(broken: set[int]) -> None:
    handled: list[int] = []
    failed: set[int] = set()

    async def run(part: list[int]) -> bool:
        if not broken & set(part):
            handled.extend(part)
        elif len(part) > 1:
            return False
        else:
            failed.update(part)
        return True

    await run_in_halves(list(range(8)), run)
    assert handled == [number for number in range(8) if number not in broken]
    assert failed == broken

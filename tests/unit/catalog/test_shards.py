"""Shards: every test is in exactly one, whichever other tests there are."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.catalog.model.resolution import Shard
from services.catalog.usecases.resolution import in_shard
from services.chassis.errors import InvalidArgument

IDS = st.sets(st.uuids().map(str), min_size=1, max_size=50)


@given(IDS, st.integers(1, 20))
def test_every_test_is_in_exactly_one_shard(test_ids: set[str], count: int) -> None:
    for test_id in test_ids:
        assert sum(Shard(index, count).contains(test_id) for index in range(1, count + 1)) == 1


@given(IDS, IDS, st.integers(1, 20), st.data())
def test_other_tests_do_not_move_a_test(some: set[str], others: set[str], count: int, data: st.DataObject) -> None:
    shard = Shard(data.draw(st.integers(1, count)), count)
    kept = {test_id for test_id in some if shard.contains(test_id)}
    try:
        selected = in_shard(sorted(some | others), shard)
    except InvalidArgument:
        selected = []
    assert {test_id for test_id in selected if test_id in some} == kept


def test_the_parts_of_many_tests_are_of_similar_size() -> None:
    test_ids = [str(UUID(int=number)) for number in range(1000)]
    sizes = [len(in_shard(test_ids, Shard(index, 4))) for index in range(1, 5)]
    assert sum(sizes) == 1000
    assert min(sizes) > 200


def test_the_order_of_the_tests_stays() -> None:
    test_ids = [str(UUID(int=number)) for number in range(40, 0, -1)]
    mine = in_shard(test_ids, Shard(2, 3))
    assert mine == [test_id for test_id in test_ids if test_id in mine]


def test_an_empty_shard_says_that_there_is_nothing_to_run() -> None:
    test_id = str(UUID(int=1))
    empty = next(shard for index in (1, 2) if not (shard := Shard(index, 2)).contains(test_id))
    with pytest.raises(InvalidArgument, match=f"Shard {empty.index} of 2 has none of the 1 tests") as refused:
        in_shard([test_id], empty)
    assert refused.value.reason == "EMPTY_SHARD"

import asyncio

import pytest

from services.chassis import context
from services.chassis.context import Caller


def test_outside_of_a_request_there_is_no_caller() -> None:
    assert context.current_or_none() is None
    with pytest.raises(LookupError):
        context.current()


async def test_tasks_started_for_a_caller_have_that_caller() -> None:
    async def who() -> str:
        await asyncio.sleep(0)
        return context.current().org_id

    async def call(org_id: str) -> str:
        with context.bind(Caller(org_id)):
            return await asyncio.create_task(who())

    assert list(await asyncio.gather(call("a"), call("b"))) == ["a", "b"]
    assert context.current_or_none() is None


def test_there_is_no_deadline_by_default() -> None:
    assert context.time_remaining() is None
    with context.limit_time(5.0):
        left = context.time_remaining()
        assert left is not None
        assert 4.0 < left <= 5.0
    assert context.time_remaining() is None

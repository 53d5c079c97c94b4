"""DeadlineGuard: an answer that comes too late is not given."""

import asyncio

import pytest

from services.chassis.errors import Unavailable
from services.reporting.servicer import DeadlineGuard


class Slow:
    async def Answer(self, request: float, context: object) -> str:  # noqa: N802
        await asyncio.sleep(request)
        return "here"


async def test_an_answer_that_took_too_long_is_not_given() -> None:
    assert await DeadlineGuard(Slow(), seconds=3600).Answer(0, None) == "here"
    with pytest.raises(Unavailable):
        await DeadlineGuard(Slow(), seconds=0).Answer(0.001, None)

"""How MongoDB's refusals of a fold come out."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pymongo.errors import AutoReconnect, OperationFailure, PyMongoError

from services.chassis.errors import Aborted
from services.reporting.storage.projections import MongoProjections


class Refusing:
    """A database whose transactions all end like this."""

    def __init__(self, error: PyMongoError) -> None:
        self._error = error

    async def transaction(self, work: Callable[[Any], Awaitable[None]]) -> None:
        raise self._error


async def nothing(_: object) -> None:
    """No work."""


@pytest.mark.parametrize("code", [112, 251, 290, 356])
async def test_a_transaction_that_mongodb_keeps_aborting_is_aborted(code: int) -> None:
    with pytest.raises(Aborted):
        await MongoProjections(Refusing(OperationFailure("ended", code))).transaction(nothing)  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [OperationFailure("unknown operator", 9), AutoReconnect("gone")])
async def test_other_errors_pass_through(error: PyMongoError) -> None:
    with pytest.raises(type(error)):
        await MongoProjections(Refusing(error)).transaction(nothing)  # type: ignore[arg-type]

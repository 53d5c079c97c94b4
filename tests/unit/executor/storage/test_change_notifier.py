"""Change notifications while the change stream fails."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

from pymongo.errors import OperationFailure

from services.chassis.mongo import Mongo
from services.executor.storage.change_notifier import POLL_ATTEMPTS, ChangeNotifier


class FailingMongo:
    """Refuses every change stream."""

    def __init__(self) -> None:
        self.attempts = 0

    @asynccontextmanager
    async def watch(self, *_: Any) -> AsyncIterator[Any]:
        self.attempts += 1
        raise OperationFailure("no change streams here")
        yield


async def test_waiters_look_for_changes_while_the_stream_fails() -> None:
    mongo = FailingMongo()
    notifier = ChangeNotifier(cast("Mongo", mongo), reconnect_seconds=0)
    with notifier.subscribe("a") as waiter:
        listening = asyncio.create_task(notifier.run())
        await waiter.changed.wait()
        listening.cancel()
    assert mongo.attempts >= POLL_ATTEMPTS

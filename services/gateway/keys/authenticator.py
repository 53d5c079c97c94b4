"""From the Authorization header to the holder of the key."""

import asyncio
from collections.abc import Sequence

from services.chassis.clock import Clock
from services.chassis.errors import Unauthenticated
from services.gateway.keys.holders import Holder, Keys, expired, invalid, missing
from services.gateway.keys.memory import KeyMemory
from services.gateway.keys.spelling import fingerprint, is_well_formed


class Authenticator:
    """Asks the catalog about a key at most every 30 s, and once however many requests bring it at the same time."""

    def __init__(self, keys: Keys, memory: KeyMemory, clock: Clock) -> None:
        self._keys = keys
        self._memory = memory
        self._clock = clock
        self._asking: dict[bytes, asyncio.Task[Holder]] = {}

    async def holder(self, authorization: Sequence[str]) -> Holder:
        """The holder of the key in the Authorization headers; Unauthenticated with the messages of the interface."""
        key = _key(authorization)
        mark = fingerprint(key)
        found = self._memory.recall(mark, self._clock.monotonic())
        if found is None:
            if not is_well_formed(key):
                raise invalid()
            return await self._ask(mark, key)
        if found.holder is None:
            raise _refusal(found.reason)
        return self._current(found.holder)

    def _current(self, holder: Holder) -> Holder:
        if holder.expires_at is not None and holder.expires_at <= self._clock.now():
            raise expired()
        return holder

    async def _ask(self, mark: bytes, key: str) -> Holder:
        task = self._asking.get(mark)
        if task is None:
            task = self._asking[mark] = asyncio.create_task(self._verify(mark, key))
            task.add_done_callback(lambda done: self._answered(mark, done))
        return await asyncio.shield(task)

    def _answered(self, mark: bytes, done: asyncio.Task[Holder]) -> None:
        self._asking.pop(mark, None)
        if not done.cancelled():
            done.exception()

    async def _verify(self, mark: bytes, key: str) -> Holder:
        try:
            holder = self._current(await self._keys.verify(key))
        except Unauthenticated as refused:
            self._memory.refuse(mark, refused.reason, self._clock.monotonic())
            raise
        if not self._memory.accept(mark, holder, self._clock.monotonic()):
            raise invalid()
        return holder


def _key(authorization: Sequence[str]) -> str:
    """What stands for the key in the one header there may be."""
    if not authorization:
        raise missing()
    scheme, _, key = authorization[0].partition(" ")
    key = key.strip()
    if len(authorization) > 1 or scheme.lower() != "bearer":
        raise invalid()
    return key


def _refusal(reason: str) -> Unauthenticated:
    return expired() if reason == expired().reason else invalid()

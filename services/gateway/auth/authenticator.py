"""From the Authorization header to the holder of the key."""

import asyncio
from collections.abc import Sequence

from services.chassis.clock import Clock
from services.chassis.errors import Unauthenticated
from services.gateway.auth.api_keys import ApiKeys, KeyHolder, expired_api_key, invalid_api_key, missing_authorization
from services.gateway.auth.key_cache import KeyCache
from services.gateway.auth.key_format import fingerprint, is_well_formed


class Authenticator:
    """Asks the catalog about a key at most every 30 s, and once however many requests bring it at the same time."""

    def __init__(self, keys: ApiKeys, memory: KeyCache, clock: Clock) -> None:
        self._keys = keys
        self._memory = memory
        self._clock = clock
        self._asking: dict[bytes, asyncio.Task[KeyHolder]] = {}

    async def holder(self, authorization: Sequence[str]) -> KeyHolder:
        """The holder of the key in the Authorization headers; Unauthenticated with the messages of the interface."""
        key = _key(authorization)
        mark = fingerprint(key)
        found = self._memory.get(mark, self._clock.monotonic())
        if found is None:
            if not is_well_formed(key):
                raise invalid_api_key()
            return await self._ask(mark, key)
        if found.holder is None:
            raise _refusal(found.reason)
        return self._current(found.holder)

    def _current(self, holder: KeyHolder) -> KeyHolder:
        if holder.expires_at is not None and holder.expires_at <= self._clock.now():
            raise expired_api_key()
        return holder

    async def _ask(self, mark: bytes, key: str) -> KeyHolder:
        task = self._asking.get(mark)
        if task is None:
            task = self._asking[mark] = asyncio.create_task(self._verify(mark, key))
            task.add_done_callback(lambda done: self._answered(mark, done))
        return await asyncio.shield(task)

    def _answered(self, mark: bytes, done: asyncio.Task[KeyHolder]) -> None:
        self._asking.pop(mark, None)
        if not done.cancelled():
            done.exception()

    async def _verify(self, mark: bytes, key: str) -> KeyHolder:
        try:
            holder = self._current(await self._keys.verify(key))
        except Unauthenticated as refused:
            self._memory.put_invalid(mark, refused.reason, self._clock.monotonic())
            raise
        if not self._memory.put_valid(mark, holder, self._clock.monotonic()):
            raise invalid_api_key()
        return holder


def _key(authorization: Sequence[str]) -> str:
    """What stands for the key in the one header there may be."""
    if not authorization:
        raise missing_authorization()
    scheme, _, key = authorization[0].partition(" ")
    key = key.strip()
    if len(authorization) > 1 or scheme.lower() != "bearer":
        raise invalid_api_key()
    return key


def _refusal(reason: str) -> Unauthenticated:
    return expired_api_key() if reason == expired_api_key().reason else invalid_api_key()

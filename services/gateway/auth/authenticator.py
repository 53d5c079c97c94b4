"""Finds the holder of an API key in an Authorization header, or of a session token."""

import asyncio
from collections.abc import Callable, Sequence

from services.chassis.clock import Clock
from services.chassis.error_status import to_domain_error
from services.chassis.errors import DeadlineExceeded, Unauthenticated, Unavailable
from services.gateway.auth.api_keys import (
    KEY_ERRORS,
    KEY_PREFIX,
    SESSION_PREFIX,
    ApiKeys,
    KeyHolder,
    ended_session,
    expired_api_key,
    fingerprint,
    invalid_api_key,
    is_well_formed,
    missing_authorization,
)
from services.gateway.auth.key_cache import KeyCache

# How long the verification of a known key may take while the key can be held.
VERIFICATION_SECONDS = 2.0


class Authenticator:
    """Verifies a key at most every 30 s, and once for all requests that bring it at the same time.

    While the catalog is unavailable, a key that it verified before stays valid as long as revocations arrive.
    """

    def __init__(
        self, keys: ApiKeys, cache: KeyCache, clock: Clock, *, revocations_arrive: Callable[[], bool] = lambda: False
    ) -> None:
        self._keys = keys
        self._revocations_arrive = revocations_arrive
        self._cache = cache
        self._clock = clock
        self._verifications: dict[bytes, asyncio.Task[KeyHolder]] = {}

    async def holder(self, authorization: Sequence[str]) -> KeyHolder:
        """The holder of the key in the Authorization headers.

        Raises:
            Unauthenticated: there is none; with the messages of the interface.
        """
        key = _bearer_key(authorization)
        if not key.startswith(KEY_PREFIX):
            raise invalid_api_key()
        return await self._holder(key)

    async def session_holder(self, token: str) -> KeyHolder:
        """The holder of the key with which somebody has signed in.

        Raises:
            Unauthenticated: there is none (INVALID_SESSION).
        """
        if not token.startswith(SESSION_PREFIX):
            raise ended_session()
        return await self._holder(token)

    async def _holder(self, key: str) -> KeyHolder:
        key_id = fingerprint(key)
        cached = self._cache.get(key_id, self._clock.monotonic())
        if cached is None:
            if not is_well_formed(key):
                raise _invalid(key)
            return await self._verify_or_hold(key_id, key)
        if cached.holder is None:
            raise KEY_ERRORS[cached.reason]()
        return self._check_expiry(cached.holder)

    def _check_expiry(self, holder: KeyHolder) -> KeyHolder:
        if holder.expires_at is not None and holder.expires_at <= self._clock.now():
            raise ended_session() if holder.session_id else expired_api_key()
        return holder

    async def _verify_or_hold(self, key_id: bytes, key: str) -> KeyHolder:
        # Without revocations a key that was deleted meanwhile would go on working.
        if not self._cache.knows(key_id) or not self._revocations_arrive():
            return await self._verify_once(key_id, key)
        try:
            async with asyncio.timeout(VERIFICATION_SECONDS):
                return await self._verify_once(key_id, key)
        except Exception as error:
            held = self._cache.hold(key_id, self._clock.monotonic()) if _is_outage(error) else None
            if held is None:
                raise
            return self._check_expiry(held)

    async def _verify_once(self, key_id: bytes, key: str) -> KeyHolder:
        """Shares one verification; a request that is cancelled does not cancel it for the others."""
        task = self._verifications.get(key_id)
        if task is None:
            task = self._verifications[key_id] = asyncio.create_task(self._verify(key_id, key))
            task.add_done_callback(lambda done: self._on_verified(key_id, done))
        return await asyncio.shield(task)

    def _on_verified(self, key_id: bytes, done: asyncio.Task[KeyHolder]) -> None:
        self._verifications.pop(key_id, None)
        if not done.cancelled():
            done.exception()

    async def _verify(self, key_id: bytes, key: str) -> KeyHolder:
        try:
            holder = self._check_expiry(await self._keys.verify(key))
        except Unauthenticated as error:
            self._cache.put_invalid(key_id, error.reason, self._clock.monotonic())
            raise
        # Its revocation arrived while the catalog was being asked.
        if not self._cache.put_valid(key_id, holder, self._clock.monotonic()):
            raise _invalid(key)
        return holder


def _invalid(key: str) -> Unauthenticated:
    return ended_session() if key.startswith(SESSION_PREFIX) else invalid_api_key()


def _is_outage(error: Exception) -> bool:
    return isinstance(error, TimeoutError) or isinstance(to_domain_error(error), Unavailable | DeadlineExceeded)


def _bearer_key(authorization: Sequence[str]) -> str:
    """The key in the only Authorization header."""
    if not authorization:
        raise missing_authorization()
    scheme, _, key = authorization[0].partition(" ")
    key = key.strip()
    if len(authorization) > 1 or scheme.lower() != "bearer":
        raise invalid_api_key()
    return key

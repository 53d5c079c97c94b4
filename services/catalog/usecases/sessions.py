"""Signing in with an API key: beginning, verifying and ending sessions."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from services.catalog.model.keys import (
    SESSION_PREFIX,
    ApiKey,
    KeySession,
    format_key,
    has_secret,
    new_secret,
    parse_key,
    secret_digest,
)
from services.catalog.ports import KeyRing, Store, Transaction
from services.catalog.usecases.keys import KeyUseCases
from services.chassis.clock import Clock
from services.chassis.context import bind, current
from services.chassis.errors import Unauthenticated
from services.chassis.ids import new_id

DURATION = timedelta(hours=12)
# That have not expired; one that was ended still counts, so that signing in and out stores no more. Another sign-in
# ends the oldest, so that nobody locks the owner of the key out by signing in.
SESSIONS_OF_KEY = 1_000


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A session, the key that it was begun with, and when the first of both ends."""

    session: KeySession
    key: ApiKey

    @property
    def expires_at(self) -> datetime:
        return min(self.session.expires_at, self.key.expires_at or self.session.expires_at)


@dataclass(frozen=True, slots=True)
class IssuedSession:
    """A new session and its token, which is shown this once."""

    signed_in: SignedIn
    token: str = field(repr=False)


class SessionUseCases:
    """Sessions of people. They have no caller: the key or the token says whose they are."""

    def __init__(self, store: Store, ring: KeyRing, keys: KeyUseCases, clock: Clock) -> None:
        self._store = store
        self._ring = ring
        self._keys = keys
        self._clock = clock

    async def begin(self, key: str) -> IssuedSession:
        """A new session with this key; the oldest beyond as many as a key may have end.

        Raises:
            Unauthenticated: see `KeyUseCases.verify`.
        """
        holder, now, offered = await self._keys.verify(key), self._clock.now(), new_secret()
        session = KeySession(
            id=new_id(),
            org_id=holder.org_id,
            api_key_id=holder.id,
            lookup=offered.lookup,
            secret_sha256=secret_digest(offered.secret),
            created_at=now,
            expires_at=now + DURATION,
        )

        async def work(change: Transaction) -> None:
            for oldest in await change.sessions.oldest_of_key(holder.id, keep=SESSIONS_OF_KEY - 1):
                await change.sessions.remove(oldest.id)
                if oldest.deleted_at is None:
                    change.announce(replace(oldest, deleted_at=now, revision=oldest.revision + 1))
            await change.sessions.add(session)

        with bind(replace(current(), org_id=holder.org_id)):
            await self._store.change(work, of=f"sessions of {holder.id}")
        return IssuedSession(SignedIn(session, holder), format_key(offered, SESSION_PREFIX))

    async def verify(self, token: str) -> SignedIn:
        """The session of a token.

        Raises:
            Unauthenticated: there is none, or it or its key has ended (INVALID_SESSION).
        """
        session, now = await self._find(token), self._clock.now()
        key = await self._ring.get(session.api_key_id) if session else None
        if session is None or key is None or (signed_in := SignedIn(session, key)).expires_at <= now:
            raise Unauthenticated("The session has ended; sign in again", reason="INVALID_SESSION")
        await self._keys.note_use(key)
        return signed_in

    async def end(self, token: str) -> None:
        """End the session of a token, if there is one."""
        session = await self._find(token)
        if session is None:
            return
        ended = replace(session, deleted_at=self._clock.now(), revision=session.revision + 1)

        async def work(change: Transaction) -> None:
            await change.sessions.replace(ended)
            change.announce(ended)

        with bind(replace(current(), org_id=session.org_id)):
            await self._store.change(work)

    async def _find(self, token: str) -> KeySession | None:
        """The session that has not been ended; a malformed token is refused without a database lookup."""
        offered = parse_key(token, SESSION_PREFIX)
        session = await self._ring.find_session(offered.lookup) if offered else None
        return session if session is not None and offered and has_secret(session, offered) else None

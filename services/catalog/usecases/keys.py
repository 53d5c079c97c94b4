"""Creating, listing, deleting and verifying API keys; creating organisations."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from services.catalog.model.keys import (
    ALL_SCOPES,
    ApiKey,
    Organisation,
    Scope,
    format_key,
    has_secret,
    is_use_due,
    new_secret,
    parse_key,
    secret_digest,
)
from services.catalog.model.tests import INTERNAL
from services.catalog.model.text import validate_name
from services.catalog.model.values import InvalidValue, ListPage, Page
from services.catalog.ports import KeyRing, Limits, Store, Transaction
from services.catalog.usecases.errors import reports_violations, require
from services.chassis import context
from services.chassis.clock import Clock
from services.chassis.context import Caller, current
from services.chassis.errors import FailedPrecondition, PermissionDenied, Unauthenticated
from services.chassis.ids import new_id
from services.chassis.limit_refusals import limit_reached


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key and its value, which is shown this once."""

    key: ApiKey
    value: str = field(repr=False)


class KeyUseCases:
    """Issuing, listing, deleting and verifying keys."""

    def __init__(self, store: Store, ring: KeyRing, limits: Limits, clock: Clock) -> None:
        self._store = store
        self._ring = ring
        self._limits = limits
        self._clock = clock

    @reports_violations
    async def create(self, name: str, scopes: Sequence[Scope], expires_at: datetime | None) -> IssuedKey:
        """A new key that may do no more than its caller, and no longer; no scopes mean the caller's.

        Every process may exceed that by the keys that others create in the same moment.

        Raises:
            InvalidArgument: it would have expired already, or outlive the key of the caller.
            PermissionDenied: the caller lacks one of the scopes, or there are as many keys as allowed.
        """
        now, offered = self._clock.now(), new_secret()
        if expires_at is not None and expires_at <= now:
            raise InvalidValue("expires_at", "must be in the future")
        allowed = _scopes_of(current())
        if not allowed.issuperset(scopes):
            raise _scopes_exceeded(allowed, scopes)
        key = ApiKey(
            id=new_id(),
            org_id=current().org_id,
            lookup=offered.lookup,
            secret_sha256=secret_digest(offered.secret),
            name=validate_name(name),
            scopes=tuple(scopes) or tuple(scope for scope in ALL_SCOPES if scope in allowed),
            created_at=now,
            expires_at=expires_at,
        )

        limit = (await self._limits.get()).api_keys

        async def work(change: Transaction) -> ApiKey:
            if limit is not None and await change.keys.count() >= limit:
                raise limit_reached("api_keys", limit, "delete keys that you do not need")
            limited = replace(key, expires_at=_limit_expiry(expires_at, await _expiry_of_caller(change)))
            await change.keys.add(limited)
            change.announce(limited)
            return limited

        return IssuedKey(await self._store.change(work, of=f"api keys of {key.org_id}"), format_key(offered))

    async def list(self, page: Page) -> ListPage[ApiKey]:
        """A page of the keys, newest first."""
        return ListPage(await self._store.keys.page(page), await self._store.keys.count())

    async def current(self) -> ApiKey:
        """The key with which the call is made.

        Raises:
            FailedPrecondition: it is made without one.
        """
        subject = current().subject
        key = await self._store.keys.get(subject) if subject else None
        if key is None:
            raise FailedPrecondition("The call is made without an API key", reason="NO_API_KEY")
        return key

    async def organisation_name(self) -> str | None:
        """The name of the caller's organisation; None when it has none."""
        return await self._ring.organisation_name(current().org_id)

    async def delete(self, key_id: str) -> None:
        """End a key.

        Raises:
            NotFound: it does not exist.
        """
        now = self._clock.now()

        async def work(change: Transaction) -> None:
            key = require(await change.keys.get(key_id), "API key")
            gone = replace(key, deleted_at=now, revision=key.revision + 1)
            await change.keys.replace(gone)
            change.announce(gone)

        await self._store.change(work)

    async def verify(self, value: str) -> ApiKey:
        """Whose key it is.

        A malformed key is refused without a database lookup.

        Raises:
            Unauthenticated: it is invalid (INVALID_API_KEY), or has expired (API_KEY_EXPIRED, only to a holder of the
                right secret).
        """
        offered, now = parse_key(value), self._clock.now()
        key = await self._ring.find(offered.lookup) if offered else None
        if offered is None or key is None or not has_secret(key, offered):
            raise Unauthenticated("Invalid API key", reason="INVALID_API_KEY")
        if key.expires_at is not None and key.expires_at <= now:
            raise Unauthenticated("API key expired", reason="API_KEY_EXPIRED")
        await self.note_use(key)
        return key

    async def note_use(self, key: ApiKey) -> None:
        """Note that the key has been used, at most once a minute."""
        now = self._clock.now()
        if is_use_due(key, now):
            await self._ring.used(key, now)

    @reports_violations
    async def bootstrap(self, name: str) -> IssuedKey:
        """A new organisation of this name with a key that has all scopes."""
        organisation = Organisation(new_id(), validate_name(name), self._clock.now())
        await self._ring.add_organisation(organisation)
        with context.bind(Caller(org_id=organisation.id, scopes=context.ALL_SCOPES)):
            return await self.create("bootstrap", ALL_SCOPES, None)


def _scopes_of(caller: Caller) -> frozenset[Scope]:
    return frozenset(scope for scope in ALL_SCOPES if scope in caller.scopes)


def _scopes_exceeded(allowed: Collection[Scope], asked: Sequence[Scope]) -> PermissionDenied:
    lacking = ", ".join(scope for scope in asked if scope not in allowed)
    own = ", ".join(scope for scope in ALL_SCOPES if scope in allowed)
    message = (
        f"scopes: a key gets at most the scopes of the caller that creates it, which are {own}; leave out {lacking}"
    )
    return PermissionDenied(message, reason="SCOPE_EXCEEDED", metadata={"scopes": own})


async def _expiry_of_caller(change: Transaction) -> datetime | None:
    """When the key of the caller expires; None for one that does not, and for operators, who need no key.

    PermissionDenied: the key was deleted a moment ago, and its gateway has not heard of it yet.
    """
    subject = current().subject
    if subject is None:
        return None
    key = await change.keys.get(subject)
    if key is None:
        raise PermissionDenied("The API key of this call has been deleted", reason="API_KEY_DELETED")
    return key.expires_at


def _limit_expiry(expires_at: datetime | None, limit: datetime | None) -> datetime | None:
    """The expiry of a key whose creator expires at the limit: by default the same. InvalidValue: it would be later."""
    if expires_at is not None and limit is not None and expires_at > limit:
        until = limit.isoformat(timespec="seconds").replace("+00:00", "Z")
        raise InvalidValue("expires_at", f"must not be after {until}, when the key that creates it expires")
    return expires_at or limit


async def caller_name(change: Transaction) -> str:
    """The name of the caller's API key; of a key that was deleted just now its id."""
    subject = current().subject
    if subject is None:
        return INTERNAL
    key = await change.keys.get(subject)
    return key.name if key else subject

"""Creating, listing, deleting and verifying API keys; creating organisations."""

from collections.abc import Sequence
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
from services.catalog.model.text import validate_name
from services.catalog.model.values import InvalidValue, ListPage, Page
from services.catalog.ports import Change, KeyRing, Limits, Store
from services.catalog.usecases.errors import reports_violations, require
from services.chassis import context
from services.chassis.clock import Clock
from services.chassis.context import Caller, current
from services.chassis.errors import FailedPrecondition, Unauthenticated
from services.chassis.ids import new_id
from services.chassis.limits import limit_reached


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
        """A new key; no scopes mean all.

        InvalidArgument: it would have expired already; PermissionDenied: there are as many as allowed. Every process
        may exceed that by the keys that others create in the same moment.
        """
        now, offered = self._clock.now(), new_secret()
        if expires_at is not None and expires_at <= now:
            raise InvalidValue("expires_at", "must be in the future")
        key = ApiKey(
            id=new_id(),
            org_id=current().org_id,
            lookup=offered.lookup,
            secret_sha256=secret_digest(offered.secret),
            name=validate_name(name),
            scopes=tuple(scopes) or ALL_SCOPES,
            created_at=now,
            expires_at=expires_at,
        )

        limit = (await self._limits.get()).api_keys

        async def work(change: Change) -> None:
            if limit is not None and await change.keys.count() >= limit:
                raise limit_reached("api_keys", limit, "delete keys that you do not need")
            await change.keys.add(key)
            change.announce(key)

        await self._store.change(work, of=f"api keys of {key.org_id}")
        return IssuedKey(key, format_key(offered))

    async def list(self, page: Page) -> ListPage[ApiKey]:
        """A page of the keys, newest first."""
        return ListPage(await self._store.keys.page(page), await self._store.keys.count())

    async def current(self) -> ApiKey:
        """The key with which the call is made. FailedPrecondition: it is made without one."""
        subject = current().subject
        key = await self._store.keys.get(subject) if subject else None
        if key is None:
            raise FailedPrecondition("The call is made without an API key", reason="NO_API_KEY")
        return key

    async def delete(self, key_id: str) -> None:
        """End a key. NotFound."""
        now = self._clock.now()

        async def work(change: Change) -> None:
            key = require(await change.keys.get(key_id), "API key")
            gone = replace(key, deleted_at=now, revision=key.revision + 1)
            await change.keys.replace(gone)
            change.announce(gone)

        await self._store.change(work)

    async def verify(self, value: str) -> ApiKey:
        """Whose key it is. Unauthenticated: INVALID_API_KEY, or API_KEY_EXPIRED to a holder of the right secret.

        A malformed key is refused without a database lookup.
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
        with context.bind(Caller(org_id=organisation.id)):
            return await self.create("bootstrap", ALL_SCOPES, None)

"""What can be done with API keys."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NoReturn

from services.catalog.model.keys import (
    ALL_SCOPES,
    ApiKey,
    Scope,
    Verdict,
    digest,
    judged,
    new_secret,
    parsed,
    spelt,
    use_is_due,
)
from services.catalog.model.organisations import Organisation
from services.catalog.model.pages import Listed, Page
from services.catalog.model.refusals import Refused
from services.catalog.model.text import checked_name
from services.catalog.ports.keys import KeyRing, Organisations
from services.catalog.ports.store import Change, Store
from services.catalog.usecases.refusing import refusing
from services.chassis import context
from services.chassis.clock import Clock
from services.chassis.context import Caller, current
from services.chassis.errors import NotFound, Unauthenticated
from services.chassis.identity import new_id


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key and its value, which is shown this once."""

    key: ApiKey
    value: str = field(repr=False)


class KeyUseCases:
    """Issuing, listing, deleting and verifying keys."""

    def __init__(self, store: Store, ring: KeyRing, clock: Clock) -> None:
        self._store = store
        self._ring = ring
        self._clock = clock

    @refusing
    async def create(self, name: str, scopes: Sequence[Scope], expires_at: datetime | None) -> IssuedKey:
        """A new key; no scopes mean all. InvalidArgument: it would have expired already."""
        now, offered = self._clock.now(), new_secret()
        if expires_at is not None and expires_at <= now:
            raise Refused("expires_at", "must lie in the future")
        key = ApiKey(
            id=new_id(),
            org_id=current().org_id,
            lookup=offered.lookup,
            secret_sha256=digest(offered.secret),
            name=checked_name(name),
            scopes=tuple(scopes) or ALL_SCOPES,
            created_at=now,
            expires_at=expires_at,
        )

        async def work(change: Change) -> None:
            await change.keys.add(key)
            change.announce(key)

        await self._store.change(work)
        return IssuedKey(key, spelt(offered))

    async def list(self, page: Page) -> Listed[ApiKey]:
        """A page of the keys, newest first."""
        return Listed(await self._store.keys.page(page), await self._store.keys.count())

    async def delete(self, key_id: str) -> None:
        """End a key. NotFound."""
        now = self._clock.now()

        async def work(change: Change) -> None:
            key = await change.keys.get(key_id)
            if key is None:
                raise NotFound("API key not found")
            gone = replace(key, deleted_at=now, revision=key.revision + 1)
            await change.keys.replace(gone)
            change.announce(gone)

        await self._store.change(work)

    async def verify(self, value: str) -> ApiKey:
        """Whose key it is. Unauthenticated: INVALID_API_KEY, or API_KEY_EXPIRED to a holder of the right secret.

        What is malformed is refused without a look at the database.
        """
        offered, now = parsed(value), self._clock.now()
        key = await self._ring.find(offered.lookup) if offered else None
        if offered is None or key is None:
            _refuse(Verdict.INVALID)
        verdict = judged(offered, key, now)
        if verdict is not Verdict.VALID:
            _refuse(verdict)
        if use_is_due(key, now):
            await self._ring.used(key, now)
        return key


class BootstrapUseCases:
    """Making the first key of an organisation, when there is none to ask with."""

    def __init__(self, organisations: Organisations, keys: KeyUseCases, clock: Clock) -> None:
        self._organisations = organisations
        self._keys = keys
        self._clock = clock

    @refusing
    async def bootstrap(self, name: str) -> IssuedKey:
        """A new organisation of this name with a key that may do everything."""
        organisation = Organisation(new_id(), checked_name(name), self._clock.now())
        await self._organisations.add(organisation)
        with context.bind(Caller(org_id=organisation.id)):
            return await self._keys.create("bootstrap", ALL_SCOPES, None)


def _refuse(verdict: Verdict) -> NoReturn:
    if verdict is Verdict.EXPIRED:
        raise Unauthenticated("API key expired", reason="API_KEY_EXPIRED")
    raise Unauthenticated("Invalid API key", reason="INVALID_API_KEY")

"""Issuing, listing, deleting and verifying API keys."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

from services.catalog.model.keys import ALL_SCOPES, PresentedKey, Scope, format_key
from services.catalog.model.values import Page
from services.catalog.usecases.keys import IssuedKey
from services.chassis import context
from services.chassis.context import Caller
from services.chassis.errors import FailedPrecondition, InvalidArgument, NotFound, PermissionDenied, Unauthenticated
from tests.fakes.catalog_samples import at, org
from tests.integration.catalog.usecases.conftest import Catalog, refused_fields

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("operator")]


@contextmanager
def calling_with(issued: IssuedKey) -> Iterator[None]:
    """Calls with this key."""
    with context.bind(Caller(org(), issued.key.id, frozenset(issued.key.scopes))):
        yield


async def test_a_new_key_is_shown_once(catalog: Catalog) -> None:
    issued = await catalog.keys.create(" ci ", [], None)
    key = issued.key
    assert (key.name, key.scopes, key.org_id) == ("ci", ALL_SCOPES, org())
    assert issued.value.startswith(key.prefix + "_")
    assert issued.value not in repr(issued)
    stored = await catalog.mongo.collection("api_keys").find_one({"_id": key.id})
    assert issued.value.split("_")[2][:32] not in repr(stored)
    assert catalog.store.facts == [key]
    assert await catalog.keys.verify(issued.value) == key


async def test_an_expiry_must_lie_ahead(catalog: Catalog) -> None:
    assert await refused_fields(catalog.keys.create("ci", [Scope.READ], at(0))) == ["expires_at"]


async def test_an_expired_key_says_so(catalog: Catalog) -> None:
    """From that moment on, and only to a holder of the right secret."""
    issued = await catalog.keys.create("ci", [], at(5))
    catalog.clock.minutes = 4
    await catalog.keys.verify(issued.value)
    catalog.clock.minutes = 5
    with pytest.raises(Unauthenticated, match=r"^API key expired$") as refusal:
        await catalog.keys.verify(issued.value)
    assert refusal.value.reason == "API_KEY_EXPIRED"
    wrong = format_key(PresentedKey(issued.key.lookup, "T" * 32))
    with pytest.raises(Unauthenticated, match=r"^Invalid API key$"):
        await catalog.keys.verify(wrong)


async def test_a_deleted_key_is_invalid(catalog: Catalog) -> None:
    issued = await catalog.keys.create("ci", [], None)
    await catalog.keys.delete(issued.key.id)
    with pytest.raises(Unauthenticated, match=r"^Invalid API key$"):
        await catalog.keys.verify(issued.value)
    assert [(fact.revision, fact.deleted_at) for fact in catalog.store.facts] == [(1, None), (2, at(0))]  # type: ignore[union-attr]
    with pytest.raises(NotFound, match=r"^API key not found$"):
        await catalog.keys.delete(issued.key.id)


async def test_a_use_is_noted(catalog: Catalog) -> None:
    issued = await catalog.keys.create("ci", [], None)
    await catalog.keys.verify(issued.value)
    assert (await catalog.keys.list(Page(1, 1))).items[0].last_used_at == at(0)


async def test_keys_are_listed_for_their_organisation(catalog: Catalog) -> None:
    issued = await catalog.keys.create("ci", [], None)
    listed = await catalog.keys.list(Page(1, 20))
    assert (listed.items, listed.total) == ([issued.key], 1)
    with context.bind(Caller(str(uuid4()))):
        assert (await catalog.keys.list(Page(1, 20))).total == 0
        with pytest.raises(NotFound, match=r"^API key not found$"):
            await catalog.keys.delete(issued.key.id)


async def test_the_first_key_of_an_organisation(catalog: Catalog) -> None:
    issued = await catalog.keys.bootstrap("Acme")
    organisation = await catalog.mongo.collection("organisations").find_one({"_id": issued.key.org_id})
    assert organisation["name"] == "Acme"
    assert issued.key.scopes == ALL_SCOPES
    assert (await catalog.keys.verify(issued.value)).org_id == issued.key.org_id


async def test_a_caller_is_shown_its_own_key(catalog: Catalog) -> None:
    issued = await catalog.keys.create("ci", [Scope.READ], None)
    with context.bind(Caller(org(), issued.key.id)):
        assert await catalog.keys.current() == issued.key
    for nobody in (Caller(org()), Caller(str(uuid4()), issued.key.id)):
        with context.bind(nobody), pytest.raises(FailedPrecondition, match="without an API key"):
            await catalog.keys.current()


async def test_a_key_gives_no_scope_that_it_lacks(catalog: Catalog) -> None:
    """By default it gives those that it has; an administrator's key alone makes no key that starts or writes."""
    with calling_with(await catalog.keys.create("admin", [Scope.ADMIN], None)):
        assert (await catalog.keys.create("child", [], None)).key.scopes == (Scope.ADMIN,)
        with pytest.raises(PermissionDenied, match=r"which are admin; leave out read, execute$") as refusal:
            await catalog.keys.create("child", [Scope.READ, Scope.EXECUTE, Scope.ADMIN], None)
    assert refusal.value.reason == "SCOPE_EXCEEDED"
    with context.bind(Caller(org(), scopes=frozenset({"read", "admin"}))):
        assert (await catalog.keys.create("of an operator", [], None)).key.scopes == (Scope.READ, Scope.ADMIN)


async def test_a_key_cannot_create_one_that_outlives_it(catalog: Catalog) -> None:
    with calling_with(await catalog.keys.create("for an hour", [], at(60))):
        child = await catalog.keys.create("child", [], None)
        assert child.key.expires_at == at(60)
        assert (await catalog.keys.create("brief", [], at(30))).key.expires_at == at(30)
        with pytest.raises(InvalidArgument, match=r"expires_at: must not be after .*Z, when the key that creates it"):
            await catalog.keys.create("child", [], at(61))
        assert (await catalog.keys.list(Page(1, 20))).total == 3
    with calling_with(child):
        assert (await catalog.keys.create("grandchild", [], None)).key.expires_at == at(60)
    with calling_with(await catalog.keys.create("for ever", [], None)):
        assert (await catalog.keys.create("child", [], None)).key.expires_at is None


async def test_a_deleted_key_makes_no_other(catalog: Catalog) -> None:
    """Its gateway may accept it for some seconds more."""
    issued = await catalog.keys.create("ci", [], at(5))
    await catalog.keys.delete(issued.key.id)
    with calling_with(issued), pytest.raises(PermissionDenied, match="has been deleted"):
        await catalog.keys.create("child", [], None)

"""Secrets: encrypted in storage, never shown, read by name."""

import secrets
from base64 import b64encode
from dataclasses import replace
from uuid import uuid4

import pytest

from services.catalog.model.secrets import SECRETS_LIMIT
from services.catalog.model.values import Page
from services.catalog.secret_cipher import SecretCipher, parse_keys
from services.catalog.storage.secrets import MongoSecrets
from services.catalog.usecases.secrets import SecretUseCases
from services.chassis import context
from services.chassis.errors import FailedPrecondition, PermissionDenied
from services.chassis.mongo import Mongo
from tests.integration.catalog.usecases.conftest import StandingClock, refused_fields

pytestmark = pytest.mark.asyncio(loop_scope="session")

VALUE = "correct horse é"
FIRST = Page(1, 10)


def new_key(key_id: str) -> str:
    return f"{key_id}={b64encode(secrets.token_bytes(32)).decode()}"


def usecases(store: MongoSecrets, keys: str) -> SecretUseCases:
    return SecretUseCases(store, SecretCipher(parse_keys(keys)), StandingClock())


@pytest.fixture
def store(storage: Mongo) -> MongoSecrets:
    return MongoSecrets(storage)


async def test_a_value_is_stored_encrypted_and_read_by_name(store: MongoSecrets) -> None:
    cases = usecases(store, new_key("v1"))
    await cases.put("staging-password", VALUE)
    assert await cases.values(["staging-password", "unknown"]) == {"staging-password": VALUE}
    [stored] = await store.page(FIRST)
    assert VALUE.encode() not in stored.value.ciphertext
    assert stored.value.key_id == "v1"
    assert "ciphertext" not in repr(stored)


async def test_equal_values_are_encrypted_differently(store: MongoSecrets) -> None:
    cases = usecases(store, new_key("v1"))
    await cases.put("a", VALUE)
    await cases.put("b", VALUE)
    one, other = await store.page(FIRST)
    assert one.value.ciphertext != other.value.ciphertext


async def test_a_value_that_is_copied_to_another_secret_cannot_be_read(store: MongoSecrets) -> None:
    cases = usecases(store, new_key("v1"))
    await cases.put("a", VALUE)
    [stored] = await store.page(FIRST)
    await store.put(replace(stored, name="b"))
    with pytest.raises(FailedPrecondition) as refusal:
        await cases.values(["b"])
    assert 'the secret "b" cannot be decrypted' in refusal.value.message


async def test_the_first_key_encrypts_and_all_keys_decrypt(store: MongoSecrets) -> None:
    old, new = new_key("v1"), new_key("v2")
    await usecases(store, old).put("a", VALUE)
    both = usecases(store, f"{new}, {old}")
    await both.put("b", VALUE)
    assert await both.values(["a", "b"]) == {"a": VALUE, "b": VALUE}
    with pytest.raises(FailedPrecondition):
        await usecases(store, new).values(["a"])


async def test_without_a_key_nothing_is_stored(store: MongoSecrets) -> None:
    with pytest.raises(FailedPrecondition) as refusal:
        await usecases(store, "").put("a", VALUE)
    assert (refusal.value.reason, await store.count()) == ("SECRETS_NOT_CONFIGURED", 0)
    assert "MOBILETEST_SECRET_KEYS" in refusal.value.message


@pytest.mark.parametrize("name", ["", "-a", "a b", "a/b", "x" * 101])
async def test_invalid_names_are_refused(store: MongoSecrets, name: str) -> None:
    assert await refused_fields(usecases(store, new_key("v1")).put(name, VALUE)) == ["name"]


async def test_a_value_is_limited_in_bytes(store: MongoSecrets) -> None:
    assert await refused_fields(usecases(store, new_key("v1")).put("a", "é" * 5000)) == ["value"]


async def test_an_organisation_has_a_limited_number_of_secrets(store: MongoSecrets, storage: Mongo) -> None:
    cases = usecases(store, new_key("v1"))
    await cases.put("a", VALUE)
    rows = storage.collection("secrets")
    row = await rows.find_one({"org_id": context.current().org_id})
    await rows.insert_many({**row, "_id": str(uuid4()), "name": f"n{number}"} for number in range(SECRETS_LIMIT - 2))
    await cases.put("one-less", VALUE)
    with pytest.raises(PermissionDenied):
        await cases.put("one-more", VALUE)
    await cases.put("a", "another value")

"""Secrets: encrypted in storage, never shown, read by name."""

import secrets
from base64 import b64encode
from dataclasses import replace
from uuid import uuid4

import pytest

from services.catalog.model.secrets import SECRETS_LIMIT
from services.catalog.model.values import Page
from services.catalog.secret_cipher import SecretCipher, parse_keys
from services.catalog.usecases.secrets import SecretUseCases
from services.chassis import context
from services.chassis.context import Caller
from services.chassis.errors import FailedPrecondition, InvalidArgument, NotFound, PermissionDenied
from tests.fakes.catalog_secrets import FakeSecrets
from tests.unit.catalog.conftest import StandingClock

VALUE = "correct horse é"


def new_key(key_id: str) -> str:
    return f"{key_id}={b64encode(secrets.token_bytes(32)).decode()}"


SAME_ID = f"{new_key('a')},{new_key('a')}"


def usecases(store: FakeSecrets, keys: str) -> SecretUseCases:
    return SecretUseCases(store, SecretCipher(parse_keys(keys)), StandingClock())


async def test_a_value_is_stored_encrypted_and_read_by_name() -> None:
    store = FakeSecrets()
    cases = usecases(store, new_key("v1"))
    await cases.put("staging-password", VALUE)
    assert await cases.values(["staging-password", "unknown"]) == {"staging-password": VALUE}
    [stored] = store.stored.values()
    assert VALUE.encode() not in stored.value.ciphertext
    assert stored.value.key_id == "v1"
    assert "ciphertext" not in repr(stored)


async def test_equal_values_are_encrypted_differently() -> None:
    store = FakeSecrets()
    cases = usecases(store, new_key("v1"))
    await cases.put("a", VALUE)
    await cases.put("b", VALUE)
    one, other = store.stored.values()
    assert one.value.ciphertext != other.value.ciphertext


async def test_a_new_value_replaces_the_old_one() -> None:
    cases = usecases(FakeSecrets(), new_key("v1"))
    await cases.put("a", "first")
    await cases.put("a", "second")
    assert await cases.values(["a"]) == {"a": "second"}
    assert (await cases.list(Page(1, 10))).total == 1


async def test_secrets_of_other_organisations_do_not_exist() -> None:
    cases = usecases(FakeSecrets(), new_key("v1"))
    with context.bind(Caller(str(uuid4()))):
        await cases.put("a", VALUE)
    assert await cases.values(["a"]) == {}
    with pytest.raises(NotFound):
        await cases.delete("a")


async def test_a_value_that_is_copied_to_another_secret_cannot_be_read() -> None:
    store = FakeSecrets()
    cases = usecases(store, new_key("v1"))
    await cases.put("a", VALUE)
    [stored] = store.stored.values()
    await store.put(replace(stored, name="b"))
    with pytest.raises(FailedPrecondition) as refusal:
        await cases.values(["b"])
    assert 'the secret "b" cannot be decrypted' in refusal.value.message


async def test_the_first_key_encrypts_and_all_keys_decrypt() -> None:
    store, old, new = FakeSecrets(), new_key("v1"), new_key("v2")
    await usecases(store, old).put("a", VALUE)
    both = usecases(store, f"{new}, {old}")
    await both.put("b", VALUE)
    assert await both.values(["a", "b"]) == {"a": VALUE, "b": VALUE}
    with pytest.raises(FailedPrecondition):
        await usecases(store, new).values(["a"])


async def test_without_a_key_nothing_is_stored() -> None:
    store = FakeSecrets()
    with pytest.raises(FailedPrecondition) as refusal:
        await usecases(store, "").put("a", VALUE)
    assert (refusal.value.reason, store.stored) == ("SECRETS_NOT_CONFIGURED", {})
    assert "MOBILETEST_SECRET_KEYS" in refusal.value.message


@pytest.mark.parametrize("name", ["", "-a", "a b", "a/b", "x" * 101])
async def test_invalid_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        await usecases(FakeSecrets(), new_key("v1")).put(name, VALUE)
    assert [violation.field for violation in refusal.value.violations] == ["name"]


async def test_a_value_is_limited_in_bytes() -> None:
    with pytest.raises(InvalidArgument) as refusal:
        await usecases(FakeSecrets(), new_key("v1")).put("a", "é" * 5000)
    assert [violation.field for violation in refusal.value.violations] == ["value"]


async def test_an_organisation_has_a_limited_number_of_secrets() -> None:
    store = FakeSecrets()
    cases = usecases(store, new_key("v1"))
    await cases.put("a", VALUE)
    [stored] = store.stored.values()
    for number in range(SECRETS_LIMIT - 1):
        await store.put(replace(stored, name=f"n{number}"))
    with pytest.raises(PermissionDenied):
        await cases.put("one-more", VALUE)
    await cases.put("a", "another value")


@pytest.mark.parametrize(
    "keys", ["v1", "v1=", "v1=AAAA", "=" + "A" * 43 + "=", "v1=%", f"a={'A' * 43}=,a={'B' * 42}A="]
)
def test_invalid_keys_are_refused_without_showing_them(keys: str) -> None:
    with pytest.raises(ValueError, match=r"^key \d must be ID=KEY"):
        parse_keys(keys)

"""Secrets and their rotation."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from services.catalog.commands import rotate_secrets
from services.catalog.model.secrets import EncryptedValue, Secret
from services.catalog.model.values import Page
from services.catalog.secret_cipher import SecretCipher
from services.catalog.storage.secrets import MongoSecretRotation, MongoSecrets
from services.chassis.context import current
from services.chassis.errors import FailedPrecondition
from services.chassis.mongo import Mongo
from tests.contract.catalog.conftest import foreign

pytestmark = pytest.mark.asyncio(loop_scope="session")

OLD, NEW = b"o" * 32, b"n" * 32


@pytest.fixture
def stored(mongo: Mongo) -> MongoSecrets:
    return MongoSecrets(mongo)


def secret(name: str, nonce: bytes = b"n") -> Secret:
    value = EncryptedValue("v1", nonce, b"\x00\xff")
    return Secret(current().org_id, name, value, datetime(2026, 1, 1, tzinfo=UTC))


async def test_secrets_are_listed_by_name_and_found_by_name(stored: MongoSecrets) -> None:
    for name in ("b", "a", "c"):
        await stored.put(secret(name))
    assert [each.name for each in await stored.page(Page(1, 2))] == ["a", "b"]
    assert [each.name for each in await stored.page(Page(2, 2))] == ["c"]
    assert list(await stored.named(["c", "x"])) == [secret("c")]
    assert await stored.count() == 3


async def test_a_secret_is_replaced_and_deleted(stored: MongoSecrets) -> None:
    await stored.put(secret("a"))
    await stored.put(secret("a", b"other"))
    assert list(await stored.named(["a"])) == [secret("a", b"other")]
    await stored.delete("a")
    await stored.delete("a")
    assert await stored.count() == 0


async def test_organisations_do_not_see_each_other(stored: MongoSecrets) -> None:
    await stored.put(secret("a"))
    with foreign():
        assert await stored.count() == 0
        assert list(await stored.named(["a"])) == []
        await stored.delete("a")
        await stored.put(secret("a", b"theirs"))
    assert list(await stored.named(["a"])) == [secret("a")]


async def test_rotation_encrypts_all_organisations_secrets_with_the_first_key(
    mongo: Mongo, stored: MongoSecrets
) -> None:
    before = SecretCipher({"v1": OLD})
    both, after = SecretCipher({"v2": NEW, "v1": OLD}), SecretCipher({"v2": NEW})
    own = replace(secret("a"), value=before.encrypt("mine", current().org_id, "a"))
    await stored.put(own)
    with foreign():
        await stored.put(replace(secret("a"), value=before.encrypt("theirs", current().org_id, "a")))
    assert await rotate_secrets(mongo, both) == 2
    assert await rotate_secrets(mongo, both) == 0
    [rotated] = await stored.named(["a"])
    assert after.decrypt(rotated.value, rotated.org_id, rotated.name) == "mine"
    assert rotated.updated_at == own.updated_at


async def test_rotation_without_the_old_key_says_so_and_changes_nothing(mongo: Mongo, stored: MongoSecrets) -> None:
    value = SecretCipher({"v1": OLD}).encrypt("mine", current().org_id, "a")
    await stored.put(replace(secret("a"), value=value))
    with pytest.raises(FailedPrecondition):
        await rotate_secrets(mongo, SecretCipher({"v2": NEW}))
    [unchanged] = await stored.named(["a"])
    assert unchanged.value == value


async def test_rotation_does_not_overwrite_a_value_that_was_set_meanwhile(mongo: Mongo, stored: MongoSecrets) -> None:
    await stored.put(secret("a", b"read"))
    await stored.put(secret("a", b"set meanwhile"))
    await MongoSecretRotation(mongo).replace(secret("a", b"read"), EncryptedValue("v2", b"x", b"x"))
    assert list(await stored.named(["a"])) == [secret("a", b"set meanwhile")]

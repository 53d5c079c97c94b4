"""Secrets in memory and on MongoDB, and their rotation on MongoDB."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from services.catalog.commands import rotate_secrets
from services.catalog.model.secrets import EncryptedValue, Secret
from services.catalog.model.values import Page
from services.catalog.secret_cipher import SecretCipher
from services.catalog.storage.secrets import MongoSecretRotation, MongoSecrets
from services.catalog.usecases.secrets import Secrets
from services.chassis.context import current
from services.chassis.errors import FailedPrecondition
from services.chassis.mongo import Mongo
from tests.callers import callers
from tests.contract.catalog.conftest import emptied, foreign
from tests.fakes.catalog_secrets import FakeSecrets

OLD, NEW = b"o" * 32, b"n" * 32


@pytest.fixture
async def mongo(mongo_uri: str, migrated_database: str) -> AsyncIterator[Mongo]:
    async with emptied(mongo_uri, migrated_database, "motor") as mongo:
        yield mongo


@pytest.fixture(params=["fake", "motor", "pymongo"])
async def stored(request: pytest.FixtureRequest) -> AsyncIterator[Secrets]:
    """What is under contract."""
    if request.param == "fake":
        yield FakeSecrets()
        return
    uri, database = request.getfixturevalue("mongo_uri"), request.getfixturevalue("migrated_database")
    async with emptied(uri, database, request.param) as mongo:
        yield MongoSecrets(mongo)


def secret(name: str, nonce: bytes = b"n") -> Secret:
    value = EncryptedValue("v1", nonce, b"\x00\xff")
    return Secret(current().org_id, name, value, datetime(2026, 1, 1, tzinfo=UTC))


async def test_secrets_are_listed_by_name_and_found_by_name(stored: Secrets) -> None:
    for name in ("b", "a", "c"):
        await stored.put(secret(name))
    assert [each.name for each in await stored.page(Page(1, 2))] == ["a", "b"]
    assert [each.name for each in await stored.page(Page(2, 2))] == ["c"]
    assert list(await stored.named(["c", "x"])) == [secret("c")]
    assert await stored.count() == 3


async def test_a_secret_is_replaced_and_deleted(stored: Secrets) -> None:
    await stored.put(secret("a"))
    await stored.put(secret("a", b"other"))
    assert list(await stored.named(["a"])) == [secret("a", b"other")]
    await stored.delete("a")
    await stored.delete("a")
    assert await stored.count() == 0


async def test_organisations_do_not_see_each_other(stored: Secrets) -> None:
    await stored.put(secret("a"))
    with foreign():
        assert await stored.count() == 0
        assert list(await stored.named(["a"])) == []
        await stored.delete("a")
        await stored.put(secret("a", b"theirs"))
    assert list(await stored.named(["a"])) == [secret("a")]


async def test_rotation_encrypts_the_secrets_of_all_organisations_with_the_first_key(mongo: Mongo) -> None:
    stored, before = MongoSecrets(mongo), SecretCipher({"v1": OLD})
    both, after = SecretCipher({"v2": NEW, "v1": OLD}), SecretCipher({"v2": NEW})
    own = replace(secret("a"), value=before.encrypt("mine", current().org_id, "a"))
    await stored.put(own)
    with foreign():
        await stored.put(replace(secret("a"), value=before.encrypt("theirs", current().org_id, "a")))
    assert await rotate_secrets(mongo, both) == 2
    assert await rotate_secrets(mongo, both) == 0
    [found] = await stored.named(["a"])
    assert after.decrypt(found.value, found.org_id, found.name) == "mine"
    assert found.updated_at == own.updated_at


async def run_rotation(mongo: Mongo, uri: str, keys: dict[str, bytes]) -> tuple[int, str, str]:
    """`python -m services.catalog rotate-secrets`: its exit code, what it prints, and its complaints."""
    environment = {
        **os.environ,
        "MOBILETEST_CALLERS": callers("t" * 20, "operator"),
        "MOBILETEST_MONGO_URI": uri,
        "MOBILETEST_CATALOG_DATABASE": mongo.database.name,
        "MOBILETEST_SECRET_KEYS": ",".join(f"{name}={b64encode(key).decode()}" for name, key in keys.items()),
    }
    command = (sys.executable, "-m", "services.catalog", "rotate-secrets")
    process = await asyncio.create_subprocess_exec(*command, env=environment, stdout=PIPE, stderr=PIPE)
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_the_command_rotates_the_secrets_of_a_database(mongo: Mongo, mongo_uri: str) -> None:
    """In the order of the documentation: both keys, the command, the new key alone. It shows no value and no key."""
    stored = MongoSecrets(mongo)
    value = SecretCipher({"v1": OLD}).encrypt("c4nary", current().org_id, "a")
    await stored.put(replace(secret("a"), value=value))
    code, out, complaint = await run_rotation(mongo, mongo_uri, {"v2": NEW})
    assert (code, out) == (1, "")
    assert f"(organisation {current().org_id}, key v1; 0 were rotated)" in complaint
    code, out, err = await run_rotation(mongo, mongo_uri, {"v2": NEW, "v1": OLD})
    assert (code, json.loads(out)) == (0, {"rotated": 1}), err
    [found] = await stored.named(["a"])
    assert SecretCipher({"v2": NEW}).decrypt(found.value, found.org_id, found.name) == "c4nary"
    code, out, again = await run_rotation(mongo, mongo_uri, {"v2": NEW})
    assert (code, json.loads(out)) == (0, {"rotated": 0}), again
    printed = complaint + err + again
    assert not [text for text in ("c4nary", b64encode(OLD).decode(), b64encode(NEW).decode()) if text in printed]


async def test_rotation_without_the_old_key_says_so_and_changes_nothing(mongo: Mongo) -> None:
    stored = MongoSecrets(mongo)
    value = SecretCipher({"v1": OLD}).encrypt("mine", current().org_id, "a")
    await stored.put(replace(secret("a"), value=value))
    with pytest.raises(FailedPrecondition):
        await rotate_secrets(mongo, SecretCipher({"v2": NEW}))
    [found] = await stored.named(["a"])
    assert found.value == value


async def test_rotation_does_not_overwrite_a_value_that_was_set_meanwhile(mongo: Mongo) -> None:
    stored = MongoSecrets(mongo)
    await stored.put(secret("a", b"read"))
    await stored.put(secret("a", b"set meanwhile"))
    await MongoSecretRotation(mongo).replace(secret("a", b"read"), EncryptedValue("v2", b"x", b"x"))
    assert list(await stored.named(["a"])) == [secret("a", b"set meanwhile")]

"""The commands `python -m services.catalog ...`, all in one process, because starting one takes long."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from pymongo import MongoClient

from services.catalog.model.keys import ALL_SCOPES
from services.catalog.model.organisation_limits import OrganisationLimits
from services.catalog.model.secrets import Secret
from services.catalog.model.values import Counts
from services.catalog.secret_cipher import SecretCipher
from services.catalog.storage.keys import MongoKeyRing
from services.catalog.storage.organisation_limits import MongoLimits
from services.catalog.storage.secrets import MongoSecrets
from services.catalog.storage.store import MongoStore
from services.catalog.usecases.keys import KeyUseCases
from services.chassis import context
from services.chassis.clock import SystemClock
from services.chassis.context import Caller, current
from services.chassis.mongo import Mongo
from services.chassis.outbox import Outbox
from tests.callers import callers

pytestmark = pytest.mark.asyncio(loop_scope="session")

OLD, NEW = b"o" * 32, b"n" * 32
RUN = """
import contextlib, io, json, os, runpy, sys
for line in sys.stdin:
    environment, sys.argv[1:] = json.loads(line)
    os.environ |= environment
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            runpy.run_module("services.catalog", run_name="__main__")
        except SystemExit as end:
            code = end.code
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


@dataclass(frozen=True)
class Commands:
    """The catalog's commands on a database of their own, which the first of them migrates."""

    process: Process
    environment: dict[str, str]
    mongo: Mongo

    async def run(self, *arguments: str, **settings: str) -> tuple[int, str, str]:
        """The exit code, what is printed, and the complaints."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps((self.environment | settings, arguments)).encode() + b"\n")
        code, out, err = json.loads(await self.process.stdout.readline())
        return code, out, err


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def commands(mongo_uri: str, mongo_client: MongoClient[dict[str, Any]]) -> AsyncIterator[Commands]:
    environment = {
        "MOBILETEST_CALLERS": callers("t" * 20, "operator"),
        "MOBILETEST_MONGO_URI": mongo_uri,
        "MOBILETEST_CATALOG_DATABASE": f"test_{uuid4().hex}",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", RUN, env=environment, stdin=PIPE, stdout=PIPE)
    mongo = await Mongo.connect(mongo_uri, environment["MOBILETEST_CATALOG_DATABASE"])
    yield Commands(process, environment, mongo)
    await process.communicate(b"")
    await mongo.close()
    mongo_client.drop_database(mongo.database.name)


async def test_bootstrap_prints_an_organisation_and_a_key_with_all_scopes(commands: Commands) -> None:
    code, out, err = await commands.run("bootstrap", "--name", "Acme")
    assert code == 0, err
    made, clock = json.loads(out), SystemClock()
    store, limits = MongoStore(commands.mongo, Outbox(commands.mongo, ""), clock), OrganisationLimits()
    keys = KeyUseCases(store, MongoKeyRing(commands.mongo), MongoLimits(commands.mongo, clock, limits), clock)
    verified = await keys.verify(made["api_key"])
    assert (verified.org_id, verified.scopes) == (made["org_id"], ALL_SCOPES)


async def test_limits_are_set_and_shown(commands: Commands) -> None:
    org_id = json.loads((await commands.run("bootstrap", "--name", "Acme"))[1])["org_id"]
    code, out, err = await commands.run("limits", org_id, "--set", "streams=3", "--set", "allowed_models=a,b")
    assert (code, json.loads(out)) == (0, {"streams": 3, "allowed_models": ["a", "b"]}), err
    code, out, err = await commands.run("limits", org_id, "--unset", "streams")
    assert (code, json.loads(out)) == (0, {"allowed_models": ["a", "b"]}), err
    code, out, err = await commands.run("limits", org_id, "--unset", "allowed_models", "--set", "screens=failed")
    assert (code, json.loads(out)) == (0, {"screens": "failed"}), err
    code, _, err = await commands.run("limits", org_id, "--set", "screens=some")
    assert (code, "screens" in err) == (1, True)
    code, _, err = await commands.run("limits", org_id, "--set", "speed=3")
    assert (code, "unknown limit 'speed'; the limits are requests_per_second" in err) == (1, True)
    code, _, err = await commands.run("limits", "nobody")
    assert (code, "There is no organisation" in err) == (1, True)


async def test_counters_are_corrected(commands: Commands) -> None:
    org_id = json.loads((await commands.run("bootstrap", "--name", "Acme"))[1])["org_id"]
    with context.bind(Caller(org_id)):
        await MongoStore(commands.mongo, Outbox(commands.mongo, ""), SystemClock()).counters.add(
            Counts(builds=2, tests=-1)
        )
    code, out, err = await commands.run("recount")
    assert (code, json.loads(out)[org_id]) == (0, {"tests": 1, "builds": -2}), err
    code, out, err = await commands.run("recount", org_id)
    assert (code, json.loads(out)) == (0, {}), err


async def test_secrets_are_rotated(commands: Commands) -> None:
    """In the order of the documentation: both keys, the command, the new key alone. It shows no value and no key."""
    await commands.run("migrate")
    stored, old, new = MongoSecrets(commands.mongo), b64encode(OLD).decode(), b64encode(NEW).decode()
    value = SecretCipher({"v1": OLD}).encrypt("c4nary", current().org_id, "a")
    await stored.put(Secret(current().org_id, "a", value, SystemClock().now()))

    async def rotate(keys: str) -> tuple[int, str, str]:
        return await commands.run("rotate-secrets", MOBILETEST_SECRET_KEYS=keys)

    code, out, complaint = await rotate(f"v2={new}")
    assert (code, out) == (1, "")
    assert f"(organisation {current().org_id}, key v1; 0 were rotated)" in complaint
    code, out, err = await rotate(f"v2={new},v1={old}")
    assert (code, json.loads(out)) == (0, {"rotated": 1}), err
    [secret] = await stored.named(["a"])
    assert SecretCipher({"v2": NEW}).decrypt(secret.value, secret.org_id, secret.name) == "c4nary"
    code, out, again = await rotate(f"v2={new}")
    assert (code, json.loads(out)) == (0, {"rotated": 0}), again
    assert not [text for text in ("c4nary", old, new) if text in complaint + err + again]

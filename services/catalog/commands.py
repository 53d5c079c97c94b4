"""Commands of the catalog: migrate, create an organisation, set limits, recount, rotate secrets, republish."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

from google.protobuf.json_format import ParseDict, ParseError
from mobiletest.types.v1 import limits_pb2

from services.catalog.app import open_database
from services.catalog.events import SOURCE, TOPICS
from services.catalog.grpc.organisation_limits import limits_message, limits_of
from services.catalog.model.organisation_limits import OrganisationLimits
from services.catalog.secret_cipher import SecretCipher, parse_keys
from services.catalog.settings import Settings
from services.catalog.storage.keys import MongoKeyRing
from services.catalog.storage.organisation_limits import MongoLimits
from services.catalog.storage.recount import recount_alone
from services.catalog.storage.secrets import MongoSecretRotation
from services.catalog.storage.store import MongoStore
from services.catalog.usecases.keys import IssuedKey, KeyUseCases
from services.chassis import context, logs, republish
from services.chassis.clock import SystemClock
from services.chassis.context import Caller
from services.chassis.errors import DomainError, FailedPrecondition, InvalidArgument
from services.chassis.mongo import Mongo
from services.chassis.outbox import Outbox
from services.chassis.settings import load
from services.chassis.validation import validate_and_default


def run_command(arguments: Sequence[str]) -> int:
    """Run a command; the exit code. Results are printed as JSON: {"org_id", "api_key"}, or the limits that are set."""
    parser = argparse.ArgumentParser(prog="python -m services.catalog")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("migrate", help="bring the database's schema up to date")
    bootstrap = commands.add_parser("bootstrap", help="create an organisation with an API key that has all scopes")
    bootstrap.add_argument("--name", required=True, help="the organisation's name")
    _add_limits(commands)
    recounting = commands.add_parser("recount", help="correct the counters of organisations; shows what was missing")
    recounting.add_argument("org_id", nargs="?", help="the id of an organisation; without it, all of them")
    commands.add_parser("rotate-secrets", help="encrypt all secrets with the first of the keys")
    republish.add_command(commands)
    parsed = parser.parse_args(arguments)
    settings = load(Settings)
    logs.configure(settings, sys.stderr)
    if parsed.command == "republish":
        return republish.run_command(settings, settings.mongo_database, TOPICS, parsed)
    if parsed.command == "limits":
        return asyncio.run(_limits(settings, parsed))
    if parsed.command == "recount":
        return asyncio.run(_recount(settings, parsed.org_id))
    if parsed.command == "rotate-secrets":
        return asyncio.run(_rotate_secrets(settings))
    asyncio.run(_bootstrap(settings, parsed.name) if parsed.command == "bootstrap" else _migrate(settings))
    return 0


def _add_limits(commands: Any) -> None:
    limits = commands.add_parser("limits", help="show or set the limits of an organisation")
    limits.add_argument("org_id", help="the organisation's id")
    names = ", ".join(limits_pb2.OrganisationLimits.DESCRIPTOR.fields_by_name)
    limits.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help=f"a limit to set, of {names}; models by commas"
    )
    limits.add_argument("--unset", action="append", default=[], metavar="NAME", help="a limit that the default is for")


async def _limits(settings: Settings, parsed: argparse.Namespace) -> int:
    with context.bind(Caller(org_id=parsed.org_id)):
        async with open_database(settings) as mongo:
            stored = MongoLimits(mongo, SystemClock(), OrganisationLimits())
            try:
                limits = limits_message(await stored.overrides())
                if parsed.set or parsed.unset:
                    limits = changed_limits(limits, parsed.set, parsed.unset)
                    await stored.set(limits_of(limits))
            except DomainError as error:
                sys.stderr.write(f"{error.message}\n")
                return 1
    sys.stdout.write(json.dumps(limits_of(limits).as_set()) + "\n")
    return 0


# Limits whose values are separated by commas.
LISTS = ("allowed_models", "script_hosts")


def changed_limits(
    limits: limits_pb2.OrganisationLimits, assignments: Sequence[str], unset: Sequence[str]
) -> limits_pb2.OrganisationLimits:
    """The limits after "name=value" and the names to unset.

    Raises:
        InvalidArgument: an unknown name, or not a valid value.
    """
    values: dict[str, Any] = limits_of(limits).as_set()
    for name in unset:
        _check_name(name)
        values.pop(name, None)
    for name, _, value in (assignment.partition("=") for assignment in assignments):
        _check_name(name)
        values[name] = value.split(",") if name in LISTS else value
    try:
        changed = ParseDict(values, limits_pb2.OrganisationLimits())
    except ParseError as error:
        raise InvalidArgument(str(error)) from error
    validate_and_default(changed)
    return changed


def _check_name(name: str) -> None:
    names = limits_pb2.OrganisationLimits.DESCRIPTOR.fields_by_name
    if name not in names:
        raise InvalidArgument(f"unknown limit {name!r}; the limits are {', '.join(names)}")


async def _recount(settings: Settings, org_id: str | None) -> int:
    async with open_database(settings) as mongo:
        missing = await recount_alone(mongo, org_id)
    if missing is None:
        sys.stderr.write("another process recounts; try again when it has ended\n")
        return 1
    sys.stdout.write(json.dumps(missing) + "\n")
    return 0


async def _rotate_secrets(settings: Settings) -> int:
    cipher = SecretCipher(parse_keys(settings.secret_keys.get_secret_value()))
    try:
        async with open_database(settings) as mongo:
            rotated = await rotate_secrets(mongo, cipher)
    except DomainError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    sys.stdout.write(json.dumps({"rotated": rotated}) + "\n")
    return 0


async def rotate_secrets(mongo: Mongo, cipher: SecretCipher) -> int:
    """Encrypt all secrets with the first key; how many were not.

    Raises:
        FailedPrecondition: the key of one is missing.
    """
    rotation, rotated = MongoSecretRotation(mongo), 0
    async for secret in rotation.not_encrypted_with(cipher.key_id):
        try:
            value = cipher.decrypt(secret.value, secret.org_id, secret.name)
        except FailedPrecondition as error:
            where = f"organisation {secret.org_id}, key {secret.value.key_id}"
            raise FailedPrecondition(f"{error.message} ({where}; {rotated} were rotated)") from error
        await rotation.replace(secret, cipher.encrypt(value, secret.org_id, secret.name))
        rotated += 1
    return rotated


async def _migrate(settings: Settings) -> None:
    async with open_database(settings):
        pass


async def _bootstrap(settings: Settings, name: str) -> None:
    async with open_database(settings) as mongo:
        issued = await bootstrap_organisation(mongo, name)
    sys.stdout.write(json.dumps({"org_id": issued.key.org_id, "api_key": issued.value}) + "\n")


async def bootstrap_organisation(mongo: Mongo, name: str) -> IssuedKey:
    """A new organisation with a key that has all scopes; a running catalog publishes its events."""
    clock = SystemClock()
    store = MongoStore(mongo, Outbox(mongo, SOURCE), clock)
    limits = MongoLimits(mongo, clock, OrganisationLimits())
    return await KeyUseCases(store, MongoKeyRing(mongo), limits, clock).bootstrap(name)

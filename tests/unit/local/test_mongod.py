"""The replica set of an embedded mongod."""

from types import SimpleNamespace
from typing import Any

import pytest
from pymongo.errors import AutoReconnect, OperationFailure

from deploy.local.mongod import ensure_replica_set


class FakeAdmin:
    """Answers commands with these errors, one after the other, then without any."""

    def __init__(self, *errors: Exception | None) -> None:
        self.errors = list(errors)
        self.commands: list[str] = []

    async def command(self, name: str, *_: Any, **__: Any) -> None:
        self.commands.append(name)
        if error := self.errors.pop(0) if self.errors else None:
            raise error


async def _no_document() -> None:
    return None


def client_of(admin: FakeAdmin) -> Any:
    return SimpleNamespace(admin=admin, local={"system.replset": SimpleNamespace(find_one=_no_document)})


@pytest.mark.parametrize("lost", [AutoReconnect("connection closed"), OperationFailure("already initialized", 23)])
async def test_a_mongod_that_still_loads_its_configuration_is_asked_again(lost: Exception) -> None:
    """It answers that it has none, then finds the one with its earlier address."""
    admin = FakeAdmin(OperationFailure("no configuration", 94), lost, OperationFailure("not in the set", 93))
    await ensure_replica_set(client_of(admin), "127.0.0.1:1")
    assert admin.commands == ["replSetGetStatus", "replSetInitiate", "replSetGetStatus", "replSetReconfig"]


async def test_other_errors_are_raised() -> None:
    with pytest.raises(OperationFailure, match="not authorized"):
        await ensure_replica_set(client_of(FakeAdmin(OperationFailure("not authorized", 13))), "127.0.0.1:1")

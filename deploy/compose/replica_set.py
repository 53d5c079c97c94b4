"""Makes a MongoDB server a replica set of one node, unless it is one, and waits until it is primary.

python replica_set.py mongo:27017 rs0
"""

import sys
import time

from pymongo import MongoClient
from pymongo.errors import OperationFailure

PATIENCE_SECONDS = 60


def ensure(address: str, name: str) -> None:
    """Initiate the replica set, and wait until it is primary.

    Raises:
        OperationFailure: the server refuses it.
        TimeoutError: it does not become primary.
    """
    with MongoClient[dict[str, object]](f"mongodb://{address}/?directConnection=true") as client:
        if not client.admin.command("hello").get("setName"):
            initiate(client, address, name)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not client.admin.command("hello")["isWritablePrimary"]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{address} is not primary after {PATIENCE_SECONDS} s")
            time.sleep(0.2)


def initiate(client: MongoClient[dict[str, object]], address: str, name: str) -> None:
    """Initiate a set of this member. AlreadyInitialized (23) is fine."""
    config = {"_id": name, "members": [{"_id": 0, "host": address}]}
    try:
        client.admin.command("replSetInitiate", config)
    except OperationFailure as failure:
        if failure.code != 23:
            raise


if __name__ == "__main__":
    ensure(*sys.argv[1:3])

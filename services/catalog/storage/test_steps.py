"""The steps of versions of tests, each content once in an organisation, with the number of versions that have it."""

import asyncio
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from services.catalog.model.tests import Step, steps_digest
from services.catalog.model.values import Page
from services.catalog.storage.documents import MOST_BYTES, decode, find, find_raw, id_condition
from services.chassis import context
from services.chassis.mongo import Document
from services.chassis.org_collection import OrgCollection, read_too_large

TEST_STEPS = "test_steps"
# What tests and versions store in place of steps that are stored here.
SHARED_STEPS = ""
NO_STEPS = "[]"

# Steps that are stored here, by their digest.
SharedSteps: TypeAlias = Mapping[str, tuple[Step, ...]]


class MongoTestSteps:
    """The contents of the caller's organisation."""

    def __init__(self, rows: OrgCollection) -> None:
        self._rows = rows

    async def use(self, steps: str) -> int:
        """Note that one more version has these steps, which are JSON; how many bytes that takes."""
        size = len(steps.encode())
        new = {"steps": steps, "bytes": size}
        id = _own_id(steps_digest(steps))
        matched = await self._rows.update_one({"_id": id}, {"$inc": {"uses": 1}, "$setOnInsert": new}, upsert=True)
        return 0 if matched else size

    async def release(self, digests: Iterable[str]) -> int:
        """Note that versions have these steps no more, once for each time they are listed, and remove steps that none
        has; how many bytes that frees.
        """
        uses = Counter(map(_own_id, digests))
        stored = await find(self._rows, id_condition(uses), projection={"uses": 1, "bytes": 1})
        freed = 0
        for content in stored:
            id = content["_id"]
            if content["uses"] <= uses[id]:
                await self._rows.delete_one({"_id": id})
                freed += content["bytes"]
            else:
                await self._rows.update_one({"_id": id}, {"$inc": {"uses": -uses[id]}})
        return freed

    async def stored(self, digests: Collection[str]) -> Collection[str]:
        """Those of the contents that are stored."""
        ids = id_condition([_own_id(digest) for digest in digests])
        return {document["_id"].rpartition("/")[2] for document in await find(self._rows, ids, projection={"_id": 1})}

    async def find(
        self, owners: OrgCollection, condition: Document, sort: Any = None, page: Page | None = None, **options: Any
    ) -> tuple[Sequence[Document], SharedSteps]:
        """The tests or versions that `find_raw` finds, and those of their steps that are stored here.

        Raises:
            InvalidArgument: they have more than `most` bytes with all their steps, equal ones again and again.
            LookupError: the steps of one that is not deleted are missing.
        """
        most = options.get("most", MOST_BYTES)
        batch = await find_raw(owners, condition, sort, page, **options)
        documents = [decode(raw) for raw in batch]
        shared = [document for document in documents if document.get("steps") == SHARED_STEPS]
        if sum(map(len, batch)) + sum(document["steps_bytes"] for document in shared) > most:
            raise read_too_large(most)
        return documents, await self._load(shared, most)

    async def _load(self, shared: Sequence[Document], most: int) -> SharedSteps:
        """The steps of these, by their digests, each decoded once; other requests have their turns in between."""
        digests = {document["steps_sha256"] for document in shared}
        if not digests:
            return {}
        ids = id_condition([_own_id(digest) for digest in digests])
        steps = {}
        for document in await find(self._rows, ids, projection={"steps": 1}, most=most):
            steps[document["_id"].rpartition("/")[2]] = decode_steps(document["steps"])
            await asyncio.sleep(0)
        if missing := [d["_id"] for d in shared if d["steps_sha256"] not in steps and d.get("live", True)]:
            raise LookupError(f"the steps of {', '.join(missing)} are missing")
        return steps


def shared_fields(steps: str) -> Document:
    """The fields of a test or version whose steps are stored here."""
    return {"steps": SHARED_STEPS, "steps_sha256": steps_digest(steps), "steps_bytes": len(steps.encode())}


def steps_of(document: Document, shared: SharedSteps) -> tuple[Step, ...]:
    """The steps of a test or version: its own, or those that `MongoTestSteps.find` has found."""
    text = document.get("steps", NO_STEPS)
    return shared.get(document["steps_sha256"], ()) if text == SHARED_STEPS else decode_steps(text)


def encode_steps(steps: tuple[Step, ...]) -> str:
    """The steps as JSON."""
    return json.dumps(steps, ensure_ascii=False)


def decode_steps(text: str) -> tuple[Step, ...]:
    """The steps of JSON."""
    return tuple(json.loads(text))


def _own_id(digest: str) -> str:
    return f"{context.current().org_id}/{digest}"

"""What attempts keep, in the object store under runs/<run>/<attempt>/<name>."""

import asyncio
from collections.abc import AsyncIterator

from services.chassis.objects import ObjectStore

PUT_SECONDS = 10.0


class StoredArtifacts:
    """The port `Artifacts` on the object store."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    async def put(self, run_id: str, attempt: int, name: str, content: bytes) -> None:
        async with asyncio.timeout(PUT_SECONDS):
            await self._store.put_bytes(_key(run_id, attempt, name), content)

    def read(self, run_id: str, attempt: int, name: str) -> AsyncIterator[bytes]:
        return self._store.get_stream(_key(run_id, attempt, name))


def _key(run_id: str, attempt: int, name: str) -> str:
    return f"runs/{run_id}/{attempt}/{name}"

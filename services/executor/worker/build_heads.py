"""The beginnings of build files in memory: read from the catalog once, and cached by the file's SHA-256."""

from collections import OrderedDict

from services.chassis.error_status import to_domain_error
from services.chassis.errors import NotFound
from services.chassis.keyed_locks import KeyedLocks
from services.executor.automation.devices.port import DeviceFailure
from services.executor.model.failures import Category
from services.executor.ports.executions import Catalog


class BuildHeadCache:
    """A cache of at most `max_bytes`; runs that need the same file at the same time share one read."""

    def __init__(self, catalog: Catalog, max_bytes: int) -> None:
        self._catalog = catalog
        self._max_bytes = max_bytes
        self._heads: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._size = 0
        self._locks: KeyedLocks[tuple[str, int]] = KeyedLocks()

    async def read(self, org_id: str, build_id: str, sha256: str, limit: int) -> bytes:
        """The first `limit` bytes of the file. Errors of the catalog are raised as they are."""
        key = (sha256, limit)
        async with self._locks[key]:
            if key in self._heads:
                self._heads.move_to_end(key)
                return self._heads[key]
            content = await self._catalog.artifact(org_id, build_id, limit)
            self._add(key, content)
            return content

    def _add(self, key: tuple[str, int], content: bytes) -> None:
        self._heads[key] = content
        self._size += len(content)
        while self._size > self._max_bytes:
            _, dropped = self._heads.popitem(last=False)
            self._size -= len(dropped)


def download_failure(error: Exception) -> Exception:
    """A failed download as a DeviceFailure; other errors stay as they are."""
    known = to_domain_error(error)
    if known is None:
        return error
    category = Category.ARTIFACT_INVALID if isinstance(known, NotFound) else Category.NETWORK_ERROR
    return DeviceFailure(category, f"The catalog did not deliver the build's file: {known.message}.")

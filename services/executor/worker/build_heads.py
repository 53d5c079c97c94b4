"""The files of builds, read from the catalog once and remembered by their SHA-256, up to a bound in bytes."""

from collections import OrderedDict

from services.chassis.error_status import to_domain_error
from services.chassis.errors import NotFound
from services.chassis.keyed_locks import KeyedLocks
from services.executor.automation.devices.port import DeviceFailure
from services.executor.model.failures import Category
from services.executor.ports.executions import Catalog


class BuildHeadCache:
    """A bounded memory of the beginnings of build files; runs that need the same one at the same time share a read."""

    def __init__(self, catalog: Catalog, max_bytes: int) -> None:
        self._catalog = catalog
        self._max_bytes = max_bytes
        self._kept: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._size = 0
        self._locks: KeyedLocks[tuple[str, int]] = KeyedLocks()

    async def read(self, org_id: str, build_id: str, sha256: str, limit: int) -> bytes:
        """The first `limit` bytes of the file. Whatever the catalog raises passes."""
        key = (sha256, limit)
        async with self._locks[key]:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            content = await self._catalog.artifact(org_id, build_id, limit)
            self._keep(key, content)
            return content

    def _keep(self, key: tuple[str, int], content: bytes) -> None:
        self._kept[key] = content
        self._size += len(content)
        while self._size > self._max_bytes:
            _, dropped = self._kept.popitem(last=False)
            self._size -= len(dropped)


def download_failure(error: Exception) -> Exception:
    """A failed download as the automation knows failures; a bug, and what is such a failure, stay as they are."""
    known = to_domain_error(error)
    if known is None:
        return error
    category = Category.ARTIFACT_INVALID if isinstance(known, NotFound) else Category.NETWORK_ERROR
    return DeviceFailure(category, f"The build's file could not be had from the catalog: {known.message}.")

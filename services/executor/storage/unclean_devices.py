"""Devices to clean, in MongoDB: one document per device, so their number is bounded by that of the devices."""

from collections.abc import Iterator
from contextlib import contextmanager

from mobiletest_automation.devices.port import MarksUnavailable
from mobiletest_automation.model.unclean_devices import UncleanDevice
from services.chassis.errors import Unavailable
from services.chassis.mongo import Mongo
from services.chassis.mongo_errors import as_unavailable
from services.executor.storage.records import from_document, to_document
from services.executor.storage.schema import UNCLEAN_DEVICES


class MongoUncleanDevices:
    """The port `UncleanDevices` on MongoDB."""

    def __init__(self, mongo: Mongo) -> None:
        self._devices = mongo.collection(UNCLEAN_DEVICES)

    async def mark(self, device: UncleanDevice) -> None:
        key = _key(device.hub, device.device)
        document = {**to_document(device), "apps": sorted(device.apps)}
        if device.installed_before is not None:
            document["installed_before"] = sorted(device.installed_before)
        with _marks():
            await self._devices.replace_one({"_id": key}, document, upsert=True)

    async def find(self, hub: str, device: str) -> UncleanDevice | None:
        return await self._find({"_id": _key(hub, device)})

    async def find_by_session(self, hub: str, session: str) -> UncleanDevice | None:
        return await self._find({"hub": hub, "session": session})

    async def _find(self, query: dict[str, str]) -> UncleanDevice | None:
        with _marks():
            document = await self._devices.find_one(query)
        return from_document(UncleanDevice, document) if document is not None else None

    async def forget(self, device: UncleanDevice) -> None:
        with _marks():
            await self._devices.delete_one({"_id": _key(device.hub, device.device), "session": device.session})


@contextmanager
def _marks() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if isinstance(error, Unavailable) or as_unavailable(error) is not None:
            raise MarksUnavailable from error
        raise


def _key(hub: str, device: str) -> str:
    return f"{hub} {device}"

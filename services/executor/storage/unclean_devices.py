"""Devices to clean, in MongoDB: one document per device, so their number is bounded by that of the devices."""

from services.chassis.mongo import Mongo
from services.executor.model.unclean_devices import UncleanDevice
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
        await self._devices.replace_one({"_id": key}, document, upsert=True)

    async def find(self, hub: str, device: str) -> UncleanDevice | None:
        found = await self._devices.find_one({"_id": _key(hub, device)})
        return from_document(UncleanDevice, found) if found is not None else None

    async def find_by_session(self, hub: str, session: str) -> UncleanDevice | None:
        found = await self._devices.find_one({"hub": hub, "session": session})
        return from_document(UncleanDevice, found) if found is not None else None

    async def forget(self, device: UncleanDevice) -> None:
        await self._devices.delete_one({"_id": _key(device.hub, device.device), "session": device.session})


def _key(hub: str, device: str) -> str:
    return f"{hub} {device}"

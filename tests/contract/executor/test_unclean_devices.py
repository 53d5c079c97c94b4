"""Devices to clean are found by device and by session until they are clean."""

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest

from mobiletest_automation.devices.port import MarksUnavailable
from mobiletest_automation.model.devices import DeviceChange, DeviceSetting, UncleanDevice
from services.chassis.mongo import Driver, Mongo
from services.executor.storage.workers import MongoUncleanDevices


@pytest.fixture
def devices(mongo: Mongo) -> MongoUncleanDevices:
    return MongoUncleanDevices(mongo)


@pytest.fixture
def left() -> UncleanDevice:
    return UncleanDevice(
        hub=f"http://{uuid4().hex}:4723",
        device="emulator-5554",
        session="s-1",
        platform="android",
        org_id="org-1",
        dedicated=False,
        apps=frozenset({"com.example.b", "com.example.a"}),
        installed_before=frozenset({"com.android.settings"}),
    )


async def test_a_marked_device_is_found_as_it_was_marked(devices: MongoUncleanDevices, left: UncleanDevice) -> None:
    await devices.mark(left)
    changes = (DeviceChange(DeviceSetting.DARK_MODE, "no"), DeviceChange(DeviceSetting.MEDIA, "/sdcard/a.b.png"))
    other = replace(
        left, device="other", session="s-2", changes=changes, apps=frozenset(), installed_before=None, dedicated=True
    )
    await devices.mark(other)
    assert await devices.find(left.hub, left.device) == left
    assert await devices.find(left.hub, "other") == other
    assert await devices.find_by_session(left.hub, "s-1") == left
    assert await devices.find("http://other:4723", left.device) is None
    assert await devices.find_by_session("http://other:4723", "s-1") is None


async def test_a_later_mark_outlives_the_earlier_one(devices: MongoUncleanDevices, left: UncleanDevice) -> None:
    await devices.mark(left)
    later = replace(left, session="s-2", org_id="org-2")
    await devices.mark(later)
    await devices.forget(left)
    assert await devices.find(left.hub, left.device) == later
    await devices.forget(later)
    assert await devices.find(left.hub, left.device) is None
    await devices.forget(later)


async def test_records_out_of_reach_are_an_error_of_the_port(mongo_driver: Driver, left: UncleanDevice) -> None:
    mongo = Mongo.unconnected("mongodb://127.0.0.1:1", "nowhere", mongo_driver)
    devices = MongoUncleanDevices(mongo)
    calls = [devices.mark(left), devices.find(left.hub, left.device), devices.find_by_session(left.hub, left.session)]
    ended = await asyncio.gather(*calls, devices.forget(left), return_exceptions=True)
    assert [type(error) for error in ended] == [MarksUnavailable] * 4
    await mongo.close()

"""Small app models for tests, and what devices show of them."""

from mobiletest_automation.devices.port import AppUnderTest, DeviceInfo, Seed
from mobiletest_automation.devices.simulated.device import SimulatedDevice
from mobiletest_automation.screen.elements import Element, walk
from mobiletest_automation.screen.outline import Outline

HEAD = """
app_model: 1
app: {id: com.example.test, name: Test}
start: first
"""


def build(text: str) -> AppUnderTest:
    content = text.encode()

    async def read(limit: int) -> bytes:
        return content[:limit]

    return AppUnderTest(app_name="Test", read=read)


async def started(text: str, *, run_id: str = "run", attempt: int = 1, platform: str = "android") -> SimulatedDevice:
    """A device on which the app of this model has been launched."""
    info = DeviceInfo("sim-1", platform, simulated=True)
    device = SimulatedDevice(info, build(text), Seed(run_id, attempt))
    await device.app.launch()
    return device


async def element(device: SimulatedDevice, identifier: str) -> Element:
    """The element with this id."""
    return next(node for node in walk(await device.view.tree()) if node.id == identifier)


async def shown(device: SimulatedDevice) -> list[str]:
    """The texts on the screen."""
    return [node.text for node in Outline(await device.view.tree()).visible if node.text]

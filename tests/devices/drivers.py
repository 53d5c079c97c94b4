"""Elements of a driver session, by the driver's own ids."""

from services.executor.automation.devices.webdriver.driver_session import DriverSession
from services.executor.automation.devices.webdriver.hub_connection import Json


async def find_one(driver: DriverSession, using: str, value: str) -> str:
    """The only element that matches a locator."""
    (found,) = await driver.find_all(using, value)
    return found


async def find_id(driver: DriverSession, name: str) -> str:
    return await find_one(driver, "id", name)


async def read_attribute(driver: DriverSession, element: str, name: str) -> Json:
    return await driver.get(f"/element/{element}/attribute/{name}")

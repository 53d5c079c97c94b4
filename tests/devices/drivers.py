"""Elements of a driver session, by the driver's own ids."""

from services.executor.automation.devices.webdriver.driver_session import DriverSession
from services.executor.automation.devices.webdriver.hub_connection import Json


async def find_id(driver: DriverSession, name: str) -> str:
    """The only element with this id."""
    (found,) = await driver.find_all("id", name)
    return found


async def read_attribute(driver: DriverSession, element: str, name: str) -> Json:
    return await driver.get(f"/element/{element}/attribute/{name}")

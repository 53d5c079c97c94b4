"""Ends sessions at their hubs; what may be left behind there is said in the log."""

from services.chassis import logs
from services.executor.automation.devices import DeviceFailure
from services.executor.automation.webdriver.client import DriverSession
from services.executor.model.failures import Category

log = logs.get(__name__)


async def end(driver: DriverSession, *, seconds: float) -> None:
    """Delete the session within so many seconds, and close the connection. Raises nothing that hubs do."""
    try:
        await driver.delete(seconds=seconds)
    except DeviceFailure as failure:
        if failure.category is not Category.SESSION_LOST:
            log.warning("session_not_deleted", hub=driver.wire.shown, session=driver.id, error=failure.message)
    finally:
        await driver.wire.close()

"""Looking at devices in tests: waits until the screen shows what a test is about."""

from mobiletest_automation.devices.port import Device
from mobiletest_automation.screen.elements import Element, Role, walk
from tests.eventually import eventually


def find(tree: Element, name: str, role: Role | None = None) -> Element | None:
    """The first visible element that is called so, in the order of the screen."""
    return next((each for each in walk(tree) if each.visible and named(each, name) and role in (None, each.role)), None)


def named(element: Element, name: str) -> bool:
    return name in (element.text, element.label, element.hint, element.id)


async def seen(device: Device, name: str, role: Role | None = None) -> Element:
    """The element, as soon as it is visible."""

    async def look() -> Element | None:
        return find(await device.view.tree(), name, role)

    element = await eventually(look)
    assert element is not None
    return element


async def texts(device: Device) -> list[str]:
    """All visible text of the screen."""
    return [each.text for each in walk(await device.view.tree()) if each.visible and each.text]


async def shows(device: Device, words: str) -> None:
    """Wait until these words are on the screen."""

    async def look() -> bool:
        said = await texts(device)
        assert words in said, f"{words!r} is not among {said}"
        return True

    await eventually(look)

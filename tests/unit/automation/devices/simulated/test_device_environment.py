"""Permissions, launch arguments, location and orientation of a simulated app; its log and page source."""

import xml.etree.ElementTree as ElementTree

import pytest

from mobiletest_automation.devices.port import LaunchOptions
from mobiletest_automation.devices.simulated.device import SimulatedDevice
from mobiletest_automation.devices.simulated.model_file import read_model
from mobiletest_automation.flows.device_commands import Mode
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.screen.outline import Outline
from tests.unit.automation.devices.simulated.models import HEAD, started

CAMERA = (
    HEAD
    + """
state: {user: nobody, rounds: 0}
permissions: [camera, location]
screens:
  first:
    title: "Hello {user}, {rounds}"
    elements:
      - type: dialog
        visible: permission.camera == "unset"
        elements:
          - {type: text, text: Test wants to use the camera}
          - {type: button, text: Allow, tap: {set: {permission.camera: allow}}}
          - {type: button, text: Deny, tap: {set: {permission.camera: deny}}}
      - {type: image, id: picture, label: Picture, visible: permission.camera == "allow"}
      - {type: text, text: "At {device.latitude}, {device.longitude}", visible: device.latitude != 0}
      - {type: text, text: "Turned by {device.rotation}"}
      - {type: text, text: It is dark, visible: device.dark_mode}
      - {type: text, text: No network, visible: device.airplane_mode}
      - {type: text, text: Turn me, visible: device.orientation == "portrait"}
      - {type: button, text: Crash, tap: {crash: "out of <ink> & paper"}}
      - {type: button, text: More, tap: {add: {rounds: 1}}}
"""
)


async def texts(device: SimulatedDevice) -> list[str]:
    return [each.text or each.label for each in Outline(await device.view.tree()).visible if each.text or each.label]


async def tap(device: SimulatedDevice, text: str) -> None:
    await device.view.tap(next(each for each in Outline(await device.view.tree()).visible if each.text == text))


async def test_a_permission_dialog_is_shown_until_it_is_answered() -> None:
    device = await started(CAMERA)
    assert "Allow" in await texts(device)
    await tap(device, "Allow")
    assert "Allow" not in await texts(device)
    assert "Picture" in await texts(device)
    await device.app.launch()
    assert "Allow" not in await texts(device)
    await device.app.clear_state()
    assert await texts(device) == []
    await device.app.launch()
    assert "Allow" in await texts(device)


@pytest.mark.parametrize(
    ("permissions", "running", "dialog", "picture"),
    [
        ({"camera": "allow"}, False, False, True),
        ({"all": "deny"}, False, False, False),
        ({"all": "deny", "camera": "unset"}, False, True, False),
        ({"camera": "unset", "all": "deny"}, False, True, False),
        ({"microphone": "allow"}, False, True, False),
        ({"camera": "always"}, True, False, True),
        ({"camera": "inuse"}, True, False, True),
        ({"camera": "limited"}, True, False, True),
        ({"camera": "never"}, True, False, False),
        ({"camera": "unset"}, True, True, False),
    ],
)
async def test_permissions_can_be_set_at_launch_and_while_the_app_runs(
    permissions: dict[str, str], running: bool, dialog: bool, picture: bool
) -> None:
    device = await started(CAMERA)
    if running:
        await device.app.set_permissions(None, permissions)
    else:
        await device.app.launch(LaunchOptions(clear_state=True, permissions=permissions))
    shown = await texts(device)
    assert ("Allow" in shown, "Picture" in shown) == (dialog, picture)
    assert ("has no permission microphone" in (await device.log()).text) == ("microphone" in permissions)


async def test_a_killed_app_keeps_its_state() -> None:
    device = await started(CAMERA)
    await tap(device, "More")
    await device.app.kill()
    assert await texts(device) == []
    await device.app.clear_keychain()
    await device.app.launch()
    assert "Hello nobody, 1" in await texts(device)


async def test_launch_arguments_set_variables() -> None:
    device = await started(CAMERA)
    await device.app.launch(LaunchOptions(arguments={"user": "Ada", "rounds": 3, "colour": "red"}))
    assert "Hello Ada, 3" in await texts(device)
    assert "has no variable colour" in (await device.log()).text


async def test_location_and_orientation_are_variables_of_the_model() -> None:
    device = await started(CAMERA)
    await device.app.set_location(52.5, -4.25)
    await device.app.set_orientation("landscape_right")
    assert "At 52.5, -4.25" in await texts(device)
    assert "Turn me" not in await texts(device)
    assert "Turned by 270" in await texts(device)
    await device.app.launch(LaunchOptions(clear_state=True))
    assert "At 52.5, -4.25" in await texts(device)


async def test_modes_are_variables_of_the_model() -> None:
    device = await started(CAMERA)
    for mode, text in ((Mode.DARK, "It is dark"), (Mode.AIRPLANE, "No network")):
        assert not await device.app.is_mode_on(mode)
        await device.app.set_mode(mode, on=True)
        assert await device.app.is_mode_on(mode)
        assert text in await texts(device)
        await device.app.set_mode(mode, on=False)
        assert text not in await texts(device)
    assert "device.dark_mode is true" in (await device.log()).text


async def test_the_log_has_all_that_happened() -> None:
    device = await started(CAMERA)
    await device.app.add_media("cat.png", b"picture")
    await tap(device, "Crash")
    log = (await device.log()).text
    assert [line.split(maxsplit=1)[1] for line in log.splitlines()] == [
        "start com.example.test",
        "screen first",
        "media cat.png added (7 bytes)",
        "crash: out of <ink> & paper",
    ]


@pytest.mark.parametrize(("platform", "root", "tag"), [("android", "hierarchy", "android.widget.Button"),
                                                       ("ios", "AppiumAUT", "XCUIElementTypeButton")])  # fmt: skip
async def test_the_page_source_is_platform_xml_marked_as_simulated(platform: str, root: str, tag: str) -> None:
    device = await started(CAMERA, platform=platform)
    await device.app.launch(LaunchOptions(arguments={"user": 'A "quote" <&>\x01\n'}))
    source = await device.view.source()
    tree = ElementTree.fromstring(source.content)  # noqa: S314 (made by ourselves)
    assert (tree.tag, tree.get("simulated"), source.content_type) == (root, "true", "application/xml")
    assert len(list(tree.iter(tag))) == 4
    assert 'Hello A "quote" <&>\N{REPLACEMENT CHARACTER}\n, 0' in [
        each.get("text", each.get("label")) for each in tree.iter()
    ]


async def test_the_home_key_leaves_the_app() -> None:
    device = await started(CAMERA)
    await device.view.press_key("home")
    assert await texts(device) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{text: x, type: text, visible: permission.kamera}",
            '"permission.kamera" is not a variable of state; did you mean',
        ),
        ("{type: button, tap: {set: {device.latitude: 1}}}", '"device.latitude" is not a variable of state'),
        ("{type: field, bind: device.orientation}", '"device.orientation" is not a variable of state'),
    ],
)
def test_device_variables_are_read_only(text: str, message: str) -> None:
    with pytest.raises(DocumentError) as error:
        read_model(f"{HEAD}\npermissions: [camera]\nscreens: {{first: {{elements: [{text}]}}}}")
    assert message in error.value.message


def test_permission_names_are_identifiers() -> None:
    with pytest.raises(DocumentError, match="not a valid name for a permission"):
        read_model(f"{HEAD}\npermissions: [take pictures]\nscreens: {{first: {{}}}}")

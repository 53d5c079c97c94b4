"""Pictures of simulated screens show which text there is, so that comparisons see when it changes."""

import pytest

from mobiletest_automation.devices.simulated.renderer import draw_screen
from mobiletest_automation.screen.elements import Bounds, Element, Role
from mobiletest_automation.screen.pictures import compare_pictures


def picture(text: str, role: Role) -> bytes:
    shown = Element(role=role, text=text, bounds=Bounds(0, 0, 100, 40))
    return draw_screen(Element(bounds=Bounds(0, 0, 100, 40), children=(shown,)))


@pytest.mark.parametrize("role", [Role.TEXT, Role.BUTTON])
@pytest.mark.parametrize(
    ("before", "after"), [("Count 0", "Count 1"), ("on", "no"), ("да", "не"), ("a" * 100, "b" * 100)]
)
def test_texts_of_one_length_look_different(before: str, after: str, role: Role) -> None:
    assert compare_pictures(picture(before, role), picture(before, role)).equal_share == 1
    assert compare_pictures(picture(before, role), picture(after, role)).equal_share < 1

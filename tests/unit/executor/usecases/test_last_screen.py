"""The screen that was read last is kept for further steps on it, within one organisation."""

import pytest

from mobiletest_automation.model.devices import Platform
from mobiletest_automation.screen.page_source.nodes import SourceError
from services.executor.usecases.last_screen import LastScreen

SOURCE = '<hierarchy><node class="a.Button" text="Go" bounds="[0,0][9,9]"/></hierarchy>'


def test_a_source_is_read_once() -> None:
    screen = LastScreen()
    assert screen.read("one", SOURCE, None) is screen.read("one", SOURCE, None)


def test_another_organisation_source_or_platform_is_read_again() -> None:
    screen = LastScreen()
    first = screen.read("one", SOURCE, None)
    others = [("two", SOURCE, None), ("one", SOURCE.replace("Go", "Stop"), None), ("one", SOURCE, Platform.ANDROID)]
    read = [screen.read(*other) for other in others]
    assert len({first, *read}) == 4
    assert read[1].children[0].text == "Stop"


def test_nothing_is_kept_of_a_source_that_cannot_be_read() -> None:
    screen = LastScreen()
    first = screen.read("one", SOURCE, None)
    with pytest.raises(SourceError):
        screen.read("one", "<hierarchy>", None)
    assert screen.read("one", SOURCE, None) is not first

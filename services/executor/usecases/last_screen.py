"""The screen that was read last: people and tools resolve several steps on one screen, and reading it takes longest."""

from mobiletest_automation.model.devices import Platform
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.page_source.reader import read_source


class LastScreen:
    """Keeps one screen, for requests of the same organisation with the same source."""

    def __init__(self) -> None:
        self._kept: tuple[tuple[str, Platform | None, str], Element] | None = None

    def read(self, org_id: str, source: str, platform: Platform | None) -> Element:
        """The screen of the source; see `read_source`. Nobody may change it."""
        key = (org_id, platform, source)
        if self._kept is None or self._kept[0] != key:
            self._kept = None  # so that reading the next may use all of the memory
            self._kept = (key, read_source(source, platform))
        return self._kept[1]

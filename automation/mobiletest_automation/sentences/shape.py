"""The regular expressions of the grammar."""

import re
from functools import cached_property
from typing import ClassVar


class Shape:
    """A regular expression without regard to case, compiled when it is used first.

    The grammar has more than 100, which take 0.1 s together, and a sentence needs few of them.
    """

    _all: ClassVar[list["Shape"]] = []

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._all.append(self)

    @classmethod
    def compile_all(cls) -> None:
        """Compile every shape now, for processes that are forked of this one."""
        for shape in cls._all:
            shape.compiled  # noqa: B018 - keeps what it returns

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """What this module's users match with."""
        return re.compile(self._pattern, re.IGNORECASE)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """As `re.Pattern.fullmatch`."""
        return self.compiled.fullmatch(text)

    def search(self, text: str) -> re.Match[str] | None:
        """As `re.Pattern.search`."""
        return self.compiled.search(text)

    def sub(self, replacement: str, text: str) -> str:
        """As `re.Pattern.sub`."""
        return self.compiled.sub(replacement, text)

"""Commands that type random texts, and that look at the screen as a picture."""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.selectors import Selector

RandomKind: TypeAlias = Literal["text", "number", "email", "person name", "city name", "country name", "color name"]

_IMAGE = re.compile(r"\.(png|jpe?g)$", re.IGNORECASE | re.ASCII)


def picture_name(path: str) -> str:
    """The name of a picture, with an ending: takeScreenshot and assertScreenshot mean the same without one."""
    return path if _IMAGE.search(path) else f"{path}.png"


@dataclass(frozen=True, slots=True)
class InputRandom(BaseCommand):
    """Type a random value of a kind; `length` is that of texts and numbers."""

    kind: RandomKind
    length: int = 8

    @property
    def subject(self) -> str:
        return f"{self.length} characters" if self.kind in ("text", "number") else ""


@dataclass(frozen=True, slots=True)
class TakeScreenshot(BaseCommand):
    """Of the screen, or of the element `crop_on` only."""

    name: str | None = None
    crop_on: Selector | None = None

    @property
    def subject(self) -> str:
        return self.name or ""


@dataclass(frozen=True, slots=True)
class AssertScreenshot(BaseCommand):
    """At least `threshold` (0 to 1) of the pixels are as in the baseline `name`, on the screen or on `crop_on` only.

    `file` is the path of the baseline that came with the folder of the flow.
    """

    name: str
    threshold: float = 0.95
    crop_on: Selector | None = None
    file: str | None = None

    @property
    def subject(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class StartRecording(BaseCommand):
    """Record the screen until stopRecording, or the end of the test."""

    name: str

    @property
    def subject(self) -> str:
        return self.name

    @property
    def declared_seconds(self) -> float:
        return 60.0


@dataclass(frozen=True, slots=True)
class StopRecording(BaseCommand):
    """Does nothing if no recording is being made."""

    @property
    def declared_seconds(self) -> float:
        return 120.0


@dataclass(frozen=True, slots=True)
class AssertWithAI(BaseCommand):
    """A model judges by the screen whether the assertion is true."""

    assertion: str

    @property
    def subject(self) -> str:
        return self.assertion


@dataclass(frozen=True, slots=True)
class AssertNoDefectsWithAI(BaseCommand):
    """A model sees no defects on the screen: nothing cut off, overlapping or untranslated."""


@dataclass(frozen=True, slots=True)
class ExtractTextWithAI(BaseCommand):
    """A model reads from the screen what the query asks for, into the variable `output`."""

    query: str
    output: str = "aiOutput"

    @property
    def subject(self) -> str:
        return self.query


AiCommand: TypeAlias = AssertWithAI | AssertNoDefectsWithAI | ExtractTextWithAI
CaptureCommand: TypeAlias = TakeScreenshot | AssertScreenshot | StartRecording | StopRecording

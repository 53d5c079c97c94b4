"""Commands that look at the screen as a picture, and that ask a model about it."""

import re
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from mobiletest_automation.flows.commands import (
    BaseCommand,
    CommandSpec,
    Reader,
    bare_reader,
    optional_argument,
    single_argument,
)
from mobiletest_automation.flows.nodes import Node, quote, read_optional
from mobiletest_automation.flows.selectors import COMMON_FIELDS, Selector, read_element
from mobiletest_automation.flows.variables import VARIABLE_NAME, VARIABLE_NAME_HINT

NAME_LIMIT = 200
FILE_LIMIT = 500
QUESTION_LIMIT = 2_000
_IMAGE = re.compile(r"\.(png|jpe?g)$", re.IGNORECASE | re.ASCII)


def picture_name(path: str) -> str:
    """The name of a picture, with an ending: takeScreenshot and assertScreenshot mean the same without one."""
    return path if _IMAGE.search(path) else f"{path}.png"


@dataclass(frozen=True, slots=True)
class TakeScreenshot(BaseCommand):
    """Of the screen, or of the element `crop_on` only."""

    ACTION: ClassVar = "screenshot"
    name: str | None = None
    crop_on: Selector | None = None

    @property
    def subject(self) -> str:
        return self.name or ""


def _read_take_screenshot(node: Node) -> BaseCommand:
    entries = node.fields(("path", "cropOn", *COMMON_FIELDS)) if node.is_mapping else {}
    argument = optional_argument(node, "path", "cropOn")
    return TakeScreenshot(
        name=None if argument is None else argument.string(limit=NAME_LIMIT),
        crop_on=read_optional(entries, "cropOn", read_element),
    )


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


def _read_assert_screenshot(node: Node) -> BaseCommand:
    path = single_argument(node, "path", "thresholdPercentage", "cropOn", "file")
    entries = node.mapping() if node.is_mapping else {}
    name = path.string(limit=NAME_LIMIT).strip()
    if not name:
        raise path.error("the name of the baseline is empty")
    percent = read_optional(entries, "thresholdPercentage", lambda value: value.number(0, 100))
    return AssertScreenshot(
        name=name,
        threshold=(95 if percent is None else percent) / 100,
        crop_on=read_optional(entries, "cropOn", read_element),
        file=read_optional(entries, "file", lambda value: value.string(limit=FILE_LIMIT)),
    )


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


def _read_start_recording(node: Node) -> BaseCommand:
    path = single_argument(node, "path")
    name = path.string(limit=NAME_LIMIT).strip()
    if not name:
        raise path.error("the name of the recording is empty")
    return StartRecording(name)


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


def _read_assert_with_ai(node: Node) -> BaseCommand:
    return AssertWithAI(_read_question(single_argument(node, "assertion")))


@dataclass(frozen=True, slots=True)
class AssertNoDefectsWithAI(BaseCommand):
    """A model sees no defects on the screen: nothing cut off, overlapping or untranslated."""


@dataclass(frozen=True, slots=True)
class ExtractTextWithAI(BaseCommand):
    """A model reads from the screen what the query asks for, into the variable `output`."""

    ACTION: ClassVar = "extract_text"
    query: str
    output: str = "aiOutput"

    @property
    def subject(self) -> str:
        return self.query


def _read_extract_text_with_ai(node: Node) -> BaseCommand:
    entries = node.mapping() if node.is_mapping else {}
    query = _read_question(single_argument(node, "query", "outputVariable"))
    output = read_optional(entries, "outputVariable", _read_variable)
    return ExtractTextWithAI(query) if output is None else ExtractTextWithAI(query, output)


def _read_question(node: Node) -> str:
    text = node.string(limit=QUESTION_LIMIT).strip()
    if not text:
        raise node.error("the text for the model is empty")
    return text


def _read_variable(node: Node) -> str:
    name = node.string(limit=100).strip()
    if not node.pending and not VARIABLE_NAME.fullmatch(name):
        raise node.error(f"{quote(name)} is not a name for a variable: {VARIABLE_NAME_HINT}")
    return name


def _ai_command(name: str, read: Reader, difference: str = "") -> CommandSpec:
    """Optional unless it says otherwise, as in Maestro: models err."""
    return CommandSpec(name, read, difference, simulated="with a model", chromium="with a model", optional=True)


AiCommand: TypeAlias = AssertWithAI | AssertNoDefectsWithAI | ExtractTextWithAI
CaptureCommand: TypeAlias = TakeScreenshot | AssertScreenshot | StartRecording | StopRecording
CAPTURE_COMMANDS = (
    _ai_command("assertWithAI", _read_assert_with_ai, "all three: asks the deployment's model, not Maestro's"),
    _ai_command("assertNoDefectsWithAI", bare_reader(AssertNoDefectsWithAI())),
    _ai_command("extractTextWithAI", _read_extract_text_with_ai),
    CommandSpec("takeScreenshot", _read_take_screenshot),
    CommandSpec(
        "assertScreenshot",
        _read_assert_screenshot,
        "an accepted baseline comes before the file beside the flow; waits until the screen is at rest",
    ),
    CommandSpec(
        "startRecording",
        _read_start_recording,
        "in browsers and on simulated devices an animation of one picture for each step; on phones at most 3 minutes",
    ),
    CommandSpec("stopRecording", bare_reader(StopRecording())),
)

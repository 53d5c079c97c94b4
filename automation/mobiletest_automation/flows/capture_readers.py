"""Readers of the commands that type random texts, and that look at the screen as a picture."""

from collections.abc import Mapping

from mobiletest_automation.flows import capture_commands as commands
from mobiletest_automation.flows.arguments import Reader, bare_reader, optional_argument, single_argument
from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.nodes import Node, quote, read_optional
from mobiletest_automation.flows.selectors import COMMON_FIELDS, read_element
from mobiletest_automation.flows.variables import VARIABLE_NAME, VARIABLE_NAME_HINT

NAME_LIMIT = 200
FILE_LIMIT = 500
QUESTION_LIMIT = 2_000
LENGTH_LIMIT = 1_000
DEFAULT_LENGTH = 8
DEFAULT_PERCENT = 95


def _random_reader(kind: commands.RandomKind) -> Reader:
    """For values that have a length; one below 1 is the default, as in Maestro."""

    def read(node: Node) -> BaseCommand:
        argument = optional_argument(node, "length")
        length = DEFAULT_LENGTH if argument is None else argument.integer(-LENGTH_LIMIT, LENGTH_LIMIT)
        return commands.InputRandom(kind, length if length > 0 else DEFAULT_LENGTH)

    return read


def _read_take_screenshot(node: Node) -> BaseCommand:
    entries = node.fields(("path", "cropOn", *COMMON_FIELDS)) if node.is_mapping else {}
    argument = optional_argument(node, "path", "cropOn")
    return commands.TakeScreenshot(
        name=None if argument is None else argument.string(limit=NAME_LIMIT),
        crop_on=read_optional(entries, "cropOn", read_element),
    )


def _read_assert_screenshot(node: Node) -> BaseCommand:
    path = single_argument(node, "path", "thresholdPercentage", "cropOn", "file")
    entries = node.mapping() if node.is_mapping else {}
    name = path.string(limit=NAME_LIMIT).strip()
    if not name:
        raise path.error("the name of the baseline is empty")
    percent = read_optional(entries, "thresholdPercentage", lambda value: value.number(0, 100))
    return commands.AssertScreenshot(
        name=name,
        threshold=(DEFAULT_PERCENT if percent is None else percent) / 100,
        crop_on=read_optional(entries, "cropOn", read_element),
        file=read_optional(entries, "file", lambda value: value.string(limit=FILE_LIMIT)),
    )


def _read_start_recording(node: Node) -> BaseCommand:
    path = single_argument(node, "path")
    name = path.string(limit=NAME_LIMIT).strip()
    if not name:
        raise path.error("the name of the recording is empty")
    return commands.StartRecording(name)


def _read_assert_with_ai(node: Node) -> BaseCommand:
    return commands.AssertWithAI(_read_question(single_argument(node, "assertion")))


def _read_extract_text_with_ai(node: Node) -> BaseCommand:
    entries = node.mapping() if node.is_mapping else {}
    query = _read_question(single_argument(node, "query", "outputVariable"))
    output = read_optional(entries, "outputVariable", _read_variable)
    return commands.ExtractTextWithAI(query) if output is None else commands.ExtractTextWithAI(query, output)


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


# Commands that are optional unless they say otherwise, as in Maestro: models err.
OPTIONAL_BY_DEFAULT = frozenset(("assertWithAI", "assertNoDefectsWithAI", "extractTextWithAI"))

CAPTURE_READERS: Mapping[str, Reader] = {
    "inputRandomText": _random_reader("text"),
    "inputRandomNumber": _random_reader("number"),
    "inputRandomEmail": bare_reader(commands.InputRandom("email")),
    "inputRandomPersonName": bare_reader(commands.InputRandom("person name")),
    "inputRandomCityName": bare_reader(commands.InputRandom("city name")),
    "inputRandomCountryName": bare_reader(commands.InputRandom("country name")),
    "inputRandomColorName": bare_reader(commands.InputRandom("color name")),
    "assertWithAI": _read_assert_with_ai,
    "assertNoDefectsWithAI": bare_reader(commands.AssertNoDefectsWithAI()),
    "extractTextWithAI": _read_extract_text_with_ai,
    "takeScreenshot": _read_take_screenshot,
    "startRecording": _read_start_recording,
    "stopRecording": bare_reader(commands.StopRecording()),
    "assertScreenshot": _read_assert_screenshot,
}

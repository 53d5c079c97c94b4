"""Checks of what is visible, and waits."""

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from mobiletest_automation.flows.commands import (
    WAIT_LIMIT_SECONDS,
    BaseCommand,
    CommandSpec,
    ElementCommand,
    element_reader,
    milliseconds_or_none,
    single_argument,
)
from mobiletest_automation.flows.nodes import Node, read_optional, scalar_text
from mobiletest_automation.flows.selectors import COMMON_FIELDS, Selector, read_element, read_truth


@dataclass(frozen=True, slots=True)
class AssertVisible(ElementCommand):
    pass


@dataclass(frozen=True, slots=True)
class AssertNotVisible(ElementCommand):
    pass


@dataclass(frozen=True, slots=True)
class AssertTrue(BaseCommand):
    """`value` is the text that the condition has become, `raw` the condition as written if it has variables."""

    value: str
    raw: str = ""

    @property
    def subject(self) -> str:
        return self.raw or self.value


def _read_assert_true(node: Node) -> BaseCommand:
    argument = single_argument(node, "condition")
    value = argument.typed  # `no` without quotes is false, and "no" is a text, which is true
    text = scalar_text(value) if isinstance(value, bool | int | float) else read_truth(argument)
    return AssertTrue(text, argument.template)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendedWaitUntil(BaseCommand):
    """Wait until `visible` is visible and `not_visible` is not, by default as long as a step may take."""

    ACTION: ClassVar = "wait_for"
    visible: Selector | None = None
    not_visible: Selector | None = None
    timeout_seconds: float | None = None

    @property
    def subject(self) -> str:
        parts = [f"visible {self.visible}"] if self.visible else []
        parts += [f"not visible {self.not_visible}"] if self.not_visible else []
        return ", ".join(parts)

    @property
    def declared_seconds(self) -> float:
        return self.timeout_seconds or 0.0


def _read_extended_wait_until(node: Node) -> BaseCommand:
    entries = node.fields(("visible", "notVisible", "timeout", *COMMON_FIELDS))
    if "visible" not in entries and "notVisible" not in entries:
        raise node.error("extendedWaitUntil needs visible or notVisible")
    read_timeout = milliseconds_or_none(WAIT_LIMIT_SECONDS)
    return ExtendedWaitUntil(
        visible=read_optional(entries, "visible", read_element),
        not_visible=read_optional(entries, "notVisible", read_element),
        timeout_seconds=(read_timeout(entries["timeout"]) or 0.0) if "timeout" in entries else None,
    )


@dataclass(frozen=True, slots=True)
class WaitForAnimationToEnd(BaseCommand):
    """Wait until the screen stops changing; after the timeout the test continues anyway."""

    ACTION: ClassVar = "wait_until_still"
    timeout_seconds: float = 15.0

    @property
    def declared_seconds(self) -> float:
        return self.timeout_seconds


def _read_wait_for_animation_to_end(node: Node) -> BaseCommand:
    entries = {} if node.is_null else node.fields(("timeout", *COMMON_FIELDS))
    seconds = read_optional(entries, "timeout", milliseconds_or_none(WAIT_LIMIT_SECONDS))
    return WaitForAnimationToEnd() if seconds is None else WaitForAnimationToEnd(seconds)


AssertionCommand: TypeAlias = AssertVisible | AssertNotVisible | AssertTrue | ExtendedWaitUntil | WaitForAnimationToEnd
ASSERTION_COMMANDS = (
    CommandSpec("assertVisible", element_reader(AssertVisible)),
    CommandSpec(
        "assertNotVisible",
        element_reader(AssertNotVisible),
        "absent for half a second; Maestro is content with one look",
    ),
    CommandSpec("assertTrue", _read_assert_true),
    CommandSpec("extendedWaitUntil", _read_extended_wait_until),
    CommandSpec("waitForAnimationToEnd", _read_wait_for_animation_to_end),
)

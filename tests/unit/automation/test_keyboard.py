"""Whether what was typed has arrived: no formatting of a field counts as a loss."""

from collections.abc import Callable

import pytest

from mobiletest_automation.keyboard import READ_LIMIT, is_rule_of_field, lacks_characters
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.screen.elements import Element, Role
from tests.fakes.devices import FakeDevice, screen
from tests.unit.automation.attempts import failure_of, run

LONG = "x" * READ_LIMIT


@pytest.mark.parametrize(
    ("typed", "before", "held"),
    [
        ("hello", "", "hello"),
        ("hello", "", "Hello"),
        ("hello", "", "HELLO"),
        ("straße", "", "STRASSE"),
        ("hello", "oh ", "oh hello"),
        ("1234567890", "", "(123) 456-7890"),
        ("1234567890", "+1 ", "+1 (123) 456-7890"),
        ("4111111111111111", "", "4111 1111 1111 1111"),
        ("01012030", "", "01/01/2030"),
        ("0101", "", "01/01/YYYY"),
        ("9:30", "", "09:30 AM"),
        ("1000", "", "1,000.00 €"),
        ("5", "", "0.05"),
        ("0012", "", "12"),
        ("1.50", "", "1.5"),
        ("1,50", "", "1.5"),
        ("ber", "", "Berlin"),
        ("teh cat", "", "the cat"),
        ("new york", "", "NYC Metropolitan Area"),
        ("１２", "", "12"),
        ("café", "", "cafe\u0301"),
        (" ada ", "", "ada"),
        ("!?", "", "!"),
        ("hello", "", ""),
        ("123456789", "", "•••-••-6789"),
        ("4111111111111111", "", "**** 1111"),
        ("red,blue", "", "blue"),
        ("https://www.example.com/", "", "example.com"),
        ("+49 151 234", "", "0151 234"),
        ("+49 151 234", "", "151 234"),
        (LONG + "y", "", LONG),
        ("hello", "one two", "one hello two"),
    ],
)
def test_what_is_formatted_or_unreadable_is_not_lost(typed: str, before: str, held: str) -> None:
    assert not lacks_characters(typed, before, held)


@pytest.mark.parametrize(
    ("typed", "before", "held"),
    [
        ("hello", "", "ello"),
        ("hello", "", "helo"),
        ("hello world", "", "hell wrld"),
        ("hello", "oh ", "oh helo"),
        ("hello", "oh ", "oh "),
        ("hello", "Your name", "helo"),
        ("1234567890", "", "(123) 456-780"),
        ("a*b*cd", "", "a*b*d"),
    ],
)
def test_lost_characters_are_seen(typed: str, before: str, held: str) -> None:
    assert lacks_characters(typed, before, held)


@pytest.mark.parametrize(
    ("typed", "held", "rule"),
    [
        ("hello world", "hello", True),
        ("abc123", "123", True),
        ("abc123", "abc", True),
        ("Zoë", "Zo", True),
        ("01/2030", "01/30", True),
        ("hello", "ello", False),
        ("hello world", "hello wrld", False),
    ],
)
def test_the_same_twice_may_be_a_rule_of_the_field(typed: str, held: str, rule: bool) -> None:
    assert is_rule_of_field(typed, "", held) is rule


class Lossy(FakeDevice):
    """A device with one field, which takes what `losses` leave of each text that is typed; the last one stays."""

    def __init__(self, *losses: Callable[[str], str], secret: bool = False, readable: bool = True) -> None:
        super().__init__(self._screen)
        self._losses = list(losses)
        self._secret = secret
        self._readable = readable
        self.held = ""
        self.moved = False
        self.typed = 0

    def _screen(self, _: float) -> Element:
        name = Element(role=Role.FIELD, label="Name", text=self.held, focused=True, secret=self._secret)
        return screen(name)

    async def type(self, text: str, target: Element | None = None) -> None:
        self.typed += 1
        loss = self._losses.pop(0) if len(self._losses) > 1 else self._losses[0]
        self.held += loss(text)

    async def field_text(self, *, focused: bool = False) -> str | None:
        return self.held if self._readable and not (focused and self.moved) else None

    async def clear(self, target: Element | None = None, characters: int | None = None) -> None:
        await super().clear(target, characters)
        self.held = self.held[: max(len(self.held) - characters, 0)] if characters is not None else ""


def whole(text: str) -> str:
    return text


def without_first(text: str) -> str:
    return text[1:]


def without_last(text: str) -> str:
    return text[:-1]


def message(result: AttemptResult) -> str:
    return result.steps[-1].message


BOTH = pytest.mark.parametrize("step", ['Type "hello" into "Name"', {"inputText": "hello"}])


@BOTH
async def test_a_text_that_arrives_is_typed_once(step: object) -> None:
    device = Lossy(whole)
    result = await run(device, step)
    assert (result.failure, message(result), device.typed) == (None, "", 1)


@BOTH
async def test_lost_characters_are_typed_again(step: object) -> None:
    device = Lossy(without_first, whole)
    result = await run(device, step)
    assert (result.failure, device.held) == (None, "hello")
    assert message(result) == '(field "Name" held "ello" at first, so the text was typed again)'


async def test_what_the_field_held_before_stays() -> None:
    device = Lossy(without_first, whole)
    device.held = "oh "
    assert (await run(device, {"inputText": "hello"})).failure is None
    assert device.held == "oh hello"


@BOTH
async def test_a_text_that_is_lost_twice_fails_the_step_with_both_texts(step: object) -> None:
    result = await run(Lossy(without_first), step)
    failure = failure_of(result)
    assert failure.category is Category.ASSERTION_FAILED
    assert failure.message == 'typed "hello" twice, but field "Name" holds "ello"'
    assert failure.reason == 'field "Name" lost characters that were typed'


async def test_a_field_that_takes_no_more_characters_passes() -> None:
    result = await run(Lossy(without_last), {"inputText": "hello"})
    assert result.failure is None
    assert message(result) == '(field "Name" holds "hell": it takes no more of the text)'


@pytest.mark.parametrize("text", ["hello\n", "hel\nlo", "hello\t"])
async def test_a_text_that_may_leave_the_field_is_not_read_back(text: str) -> None:
    device = Lossy(without_first)
    assert (await run(device, {"inputText": text})).failure is None
    assert device.typed == 1


@pytest.mark.parametrize("device", [Lossy(without_first, secret=True), Lossy(without_first, readable=False)])
async def test_passwords_and_unreadable_fields_are_not_read_back(device: Lossy) -> None:
    assert (await run(device, {"inputText": "hello"})).failure is None
    assert device.typed == 1


async def test_a_text_that_went_on_into_another_field_is_not_typed_again() -> None:
    """Fields for one digit each pass the focus on."""
    device = Lossy(lambda text: text[0])
    device.moved = True
    assert (await run(device, {"inputText": "123456"})).failure is None
    assert device.typed == 1


async def test_a_part_of_a_secret_is_not_shown() -> None:
    result = await run(Lossy(without_first), {"inputText": "${API_TOKEN}"}, env={"API_TOKEN": "tok-1234567x"})
    assert failure_of(result).message == 'typed "${API_TOKEN}" twice, but field "Name" holds a part of it'

"""Which sentences of a flow no rule parses, without a screen."""

import pytest

from mobiletest_automation.flows.loader import load_flow
from mobiletest_automation.sentences.unparsed import REMARKS_LIMIT, SECONDS_LIMIT, SentenceCheck


def unparsed(text: str) -> list[tuple[int | None, int | None, str]]:
    """Line, column and message of each remark about a flow."""
    flow = load_flow(text, root="a.yaml", path="a.yaml").require()
    return [(each.line, each.column, each.message) for each in SentenceCheck()(flow)]


@pytest.mark.parametrize(
    "sentence",
    [
        'Tap "Log in"',
        'I see the "Welcome" heading',
        'Type "Ada" into "Name"',
        "Swipe up",
        'Wait for "Done" for up to 10 seconds',
        "Launch the app",
        "Go back",
    ],
)
def test_a_sentence_that_a_rule_parses_has_no_remark(sentence: str) -> None:
    assert unparsed(f"- '{sentence}'\n") == []


@pytest.mark.parametrize(
    ("sentence", "instead"),
    [
        ("Buy the cheapest blanket", 'they understand, for example: Tap "Log in"'),
        ("If the banner is shown, close it", "use the runFlow command with when"),
        ("Do not tap Delete", "say what must be visible"),
    ],
)
def test_a_remark_says_what_can_be_written_instead(sentence: str, instead: str) -> None:
    ((line, column, message),) = unparsed(f"- Go back\n- {sentence}\n")
    assert (line, column) == (2, 3)
    assert f'"{sentence}"' in message
    assert instead in message


def test_what_is_no_sentence_or_is_open_has_no_remark() -> None:
    assert (
        unparsed("- tapOn: Buy the cheapest blanket\n- assertVisible: whatever that is\n- Do ${WHAT} with it\n") == []
    )


def test_sentences_inside_of_commands_are_checked() -> None:
    assert [line for line, *_ in unparsed("- repeat:\n    times: 2\n    commands:\n      - Make it nice\n")] == [4]


def test_remarks_are_few_and_end_with_the_time() -> None:
    flow = load_flow("".join(f"- Make number {number} nice\n" for number in range(30)), root="a", path="a").require()
    assert len(SentenceCheck()(flow)) == REMARKS_LIMIT
    times = iter([0.0, 0.0, 0.0, SECONDS_LIMIT])
    assert len(SentenceCheck(lambda: next(times))(flow)) == 2

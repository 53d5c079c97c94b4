"""Values that Maestro accepts are accepted, and mean the same."""

from mobiletest_automation.flows.loader import load_flow, parse_flow
from mobiletest_automation.flows.steps import Command, Flow, Repeat, Retry, RunFlow


def test_an_element_can_mark_its_command_as_optional() -> None:
    flow = parse_flow(
        [{"scrollUntilVisible": {"element": {"id": "x", "optional": True}}}, {"extendedWaitUntil": {"visible": "x"}}]
    )
    assert [step.optional for step in flow.steps] == [True, False]


SAME: list[tuple[str, str]] = [
    ("swipe: {direction: UP, duration: 0}", "swipe: {direction: UP, duration: 1}"),
    ("tapOn: {text: a, repeat: 0, delay: -1, waitUntilVisible: true}", "tapOn: a"),
    ("tapOn: {text: a, start: '1,1', end: '2,2', enabled: 'TRUE'}", "tapOn: {text: a, enabled: true}"),
    ("tapOn: {text: a, waitToSettleTimeoutMs: 90000}", "tapOn: {text: a, waitToSettleTimeoutMs: 30000}"),
    ("doubleTapOn: {text: a, repeat: 3}", "doubleTapOn: a"),
    ("tapOn: {point: '50%,30'}", "tapOn: {point: '50%,30%'}"),
    ("tapOn: {below: {text: a, optional: true, label: x, point: '1,1'}}", "tapOn: {below: a}"),
    ("tapOn: {traits: LONG_TEXT square}", "tapOn: {traits: long-text square}"),
    ("assertVisible: {text: a, point: '1,1', repeat: 2, retryTapIfNoChange: false}", "assertVisible: a"),
    ("launchApp: {stopApp: 'False'}", "launchApp: {stopApp: false}"),
    ("launchApp: {stopApp: no, clearState: On}", "launchApp: {stopApp: false, clearState: true}"),
    ("launchApp: {arguments: {a: yes, b: OFF, c: 'no'}}", "launchApp: {arguments: {a: true, b: false, c: !!str no}}"),
    ("launchApp: {stopApp: 0, clearState: 02}", "launchApp: {stopApp: false, clearState: true}"),
    ("launchApp: {arguments: {a: 0x1F, b: 017, c: 08}}", "launchApp: {arguments: {a: 31, b: 15, c: '08'}}"),
    ("assertTrue: Off", "assertTrue: false"),
    ("assertTrue: 0.0_0", "assertTrue: '0'"),
    ("assertTrue: ' false '", "assertTrue: false"),
    ("assertTrue: {condition: no}", "assertTrue: false"),
    ("inputText: no", "inputText: 'no'"),
    ("runFlow: {when: {true: no}, commands: []}", "runFlow: {when: {true: 'no'}, commands: []}"),
    ("scrollUntilVisible: {element: a, timeout: -200}", "scrollUntilVisible: {element: a}"),
    ("scrollUntilVisible: {element: a, visibilityPercentage: 150}", "scrollUntilVisible: {element: a}"),
    ("extendedWaitUntil: {visible: a, timeout: -1}", "extendedWaitUntil: {visible: a, timeout: 0}"),
    ("waitForAnimationToEnd: {timeout: -5}", "waitForAnimationToEnd"),
    ("runFlow: {when: {visible: a, label: x}, commands: []}", "runFlow: {when: {visible: a}, commands: []}"),
    ("runFlow: {when: {}, commands: [back]}", "runFlow: {commands: [back]}"),
    ("repeat: {times: -1, commands: [back]}", "repeat: {times: 0, commands: [back]}"),
    ("repeat: {times: 2.9, commands: [back]}", "repeat: {times: 2, commands: [back]}"),
    ("retry: {maxRetries: 99, commands: [back]}", "retry: {maxRetries: 3, commands: [back]}"),
    ("tapOn: &x a", "tapOn: a"),
    ("inputText: !!str 5", "inputText: '5'"),
]  # fmt: skip


def test_values_that_maestro_accepts_mean_the_same() -> None:
    def command(text: str) -> Command:
        return parse_flow(f"- {text}").steps[0].command

    assert [row for row in SAME if command(row[0]) != command(row[1])] == []


def test_values_mean_the_same_when_they_are_read_from_what_is_stored() -> None:
    def commands(flow: Flow) -> list[Command]:
        return [step.command for step in flow.steps]

    loaded = [load_flow(f"- {text}") for text, _ in SAME]
    simple = [flow for flow in loaded if not isinstance(commands(flow.require())[0], RunFlow | Repeat | Retry)]
    assert [flow.steps for flow in simple if commands(parse_flow(flow.steps)) != commands(flow.require())] == []


def test_a_quoted_word_is_true() -> None:
    """In Maestro, `assertTrue: "no"` passes, and `assertTrue: no` fails."""
    assert parse_flow("- assertTrue: 'no'") != parse_flow("- assertTrue: no")


def test_an_empty_document_at_the_end_is_ignored() -> None:
    assert len(parse_flow("appId: a\n---\n- back\n---\n").steps) == 1

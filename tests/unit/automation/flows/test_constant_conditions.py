"""Conditions that compare nothing are true whatever the variables are: who sends them is told."""

import pytest

from mobiletest_automation.flows.loader import ALWAYS_TRUE, NOTICES_LIMIT, load_flow


@pytest.mark.parametrize(
    ("steps", "places"),
    [
        ("- assertTrue: ${A} == 5", [(1, 15)]),
        ("- assertTrue: {condition: '${A} > ${B}'}", [(1, 27)]),
        ("- assertTrue: 1 == 2", [(1, 15)]),
        ("- runFlow: {when: {true: '${A} || ${B}'}, commands: [back]}", [(1, 26)]),
        ("- repeat: {while: {true: '${A} < 3'}, commands: [{assertTrue: '${B} != 1'}]}", [(1, 26), (1, 63)]),
        ("appId: a\nonFlowComplete: [{assertTrue: '${A} && true'}]\n---\n- back", [(2, 31)]),
        ("- assertTrue: ${A == 5 && B < 3}", []),
        ("- assertTrue: ' ${A == `${B} > 1`} '", []),
        ("- assertTrue: some text", []),
        ("- assertTrue: true", []),
        ("- assertVisible: ${A} > 3", []),
        ("- runFlow: {when: {visible: A > B}, commands: [back]}", []),
    ],
)
def test_a_comparison_outside_of_an_expression_gets_a_notice(steps: str, places: list[tuple[int, int]]) -> None:
    loaded = load_flow(steps)
    loaded.require()
    assert [(notice.line, notice.column) for notice in loaded.notices] == places
    assert {notice.message for notice in loaded.notices} <= {ALWAYS_TRUE}


def test_the_notices_of_a_flow_are_limited() -> None:
    assert len(load_flow("- assertTrue: ${A} == 5\n" * 100).notices) == NOTICES_LIMIT

from typing import Any

import pytest

from mobiletest_automation.flows.step_paths import NoSuchStep, replace_step, step_at

STEPS: list[Any] = ["Launch the app", {"repeat": {"times": 2, "commands": ["back", {"tapOn": "Pay"}]}}]


def test_a_step_is_replaced_and_the_others_stay() -> None:
    path = "steps[1].repeat.commands[1]"
    assert step_at(STEPS, path) == {"tapOn": "Pay"}
    changed = replace_step(STEPS, path, {"tapOn": "Pay"}, {"tapOn": "Buy"})
    assert changed == ["Launch the app", {"repeat": {"times": 2, "commands": ["back", {"tapOn": "Buy"}]}}]
    assert step_at(STEPS, path) == {"tapOn": "Pay"}
    assert replace_step(STEPS, "steps[0]", STEPS[0], "back") == ["back", STEPS[1]]


def test_a_step_that_has_changed_is_not_replaced() -> None:
    with pytest.raises(NoSuchStep):
        replace_step(STEPS, "steps[1].repeat.commands[1]", {"tapOn": "Pay now"}, {"tapOn": "Buy"})


@pytest.mark.parametrize("path", ["steps[2]", "steps[0].repeat", "steps[1].retry.commands[0]", "steps[1].repeat[0]"])
def test_a_path_that_leads_nowhere_is_an_error(path: str) -> None:
    with pytest.raises(NoSuchStep):
        step_at(STEPS, path)
    with pytest.raises(NoSuchStep):
        replace_step(STEPS, path, "back", "back")

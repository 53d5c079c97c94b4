"""Which variables from outside a test reads."""

from typing import Any

import pytest

from mobiletest_automation.flows.loader import load_flow
from mobiletest_automation.flows.variables import variables_read

NAMES = ("LOCALE", "USER", "RUN_ID")


def read_by(flow: str, files: dict[str, str] | None = None) -> set[str]:
    loaded = load_flow(f"appId: com.example\n{flow}", files or {})
    assert not loaded.problems
    return set(variables_read(loaded.steps, NAMES))


@pytest.mark.parametrize(
    ("flow", "names"),
    [
        ("---\n- tapOn: LOCALE", set()),
        ("---\n- tapOn: ${LOCALE}", {"LOCALE"}),
        ('---\n- Type "${USER.trim() + \'!\'}" into "Name"', {"USER"}),
        ("---\n- tapOn: ${OTHER_LOCALE}", set()),
        ("---\n- tapOn: ${'LOCALE' /* USER */}", set()),
        ("---\n- tapOn: ${`in ${LOCALE}`}", {"LOCALE"}),
        ('---\n- tapOn: ${name.replace(/"/g, USER)}', {"USER"}),
        ("---\n- tapOn: \\${LOCALE}", set()),
        ("---\n- tapOn:\n    below:\n      id: ${LOCALE}", {"LOCALE"}),
        ("---\n- launchApp:\n    arguments:\n      ${USER}: 1", {"USER"}),
        ("---\n- evalScript: ${output.x = LOCALE}", {"LOCALE"}),
        ("---\n- runFlow:\n    when: {true: '${LOCALE}'}\n    commands:\n      - tapOn: ${USER}", {"LOCALE", "USER"}),
        ("---\n- runFlow:\n    env: {WHO: '${USER}'}\n    commands:\n      - tapOn: ${WHO}", {"USER"}),
        ("onFlowComplete:\n  - tapOn: ${USER}\n---\n- back", {"USER"}),
    ],
)
def test_identifiers_in_expressions_are_read(flow: str, names: set[str]) -> None:
    assert read_by(flow) == names


def test_scripts_and_files_are_read() -> None:
    files = {
        "login.yaml": "appId: com.example\nonFlowStart:\n  - tapOn: ${LOCALE}\n---\n- runScript: login.js",
        "login.js": '// RUN_ID\noutput.name = USER.replace(/\'/g, "RUN_ID")',
    }
    assert read_by("---\n- runFlow: login.yaml", files) == {"USER", "LOCALE"}


def test_all_words_of_invalid_javascript_count_as_names() -> None:
    """What cannot be read may use any of them."""
    assert read_by("---\n- runScript: x.js", {"x.js": 'if ("LOCALE) }'}) == {"LOCALE"}
    assert read_by("---\n- runScript: x.js", {"x.js": "} 'LOCALE'"}) == {"LOCALE"}


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("env:\n  USER: ada", set()),
        ("env:\n  USER: ${USER || 'ada'}", {"USER"}),
        ("env:\n  WHO: ${LOCALE}\n  USER: ada", {"LOCALE"}),
    ],
)
def test_a_name_of_the_header_hides_the_one_from_outside(header: str, names: set[str]) -> None:
    assert read_by(f"{header}\n---\n- tapOn: ${{USER}}") == names


@pytest.mark.parametrize("steps", [[], ['Tap "A"'], [{"env": None}], [{"tapOn": None}], [{"env": {"A": 1}}, "${USER}"]])
def test_any_stored_steps_can_be_read(steps: list[Any]) -> None:
    assert variables_read(steps, NAMES) <= {"USER"}

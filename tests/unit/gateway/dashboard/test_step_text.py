"""Steps as text: reading the text gives the same steps."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobiletest_automation.flows.documents import read_json, read_yaml
from mobiletest_automation.flows.loader import load_flow
from services.gateway.dashboard.step_text import write_steps

SCALARS = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=40)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    "step",
    [
        "Launch the app",
        '"Pay" is enabled',
        "# no comment",
        "I see: a colon",
        {"tapOn": {"id": "log_in", "index": 2}},
        {"inputText": "007"},
        {"inputText": "1e3"},
        {"inputText": "no"},
        {"inputText": "<script>alert(1)</script>"},
        {"inputText": "\u202eabc\u0000\t"},
        {"evalScript": "${output.a = 1}"},
        {"runScript": {"script": "output.a = 1\nif (true) {\n  output.b = 2 \n}\n"}},
        {"repeat": {"times": 2, "commands": ["back", {"back": {}}]}},
    ],
)
def test_a_step_is_read_as_it_was(step: Any) -> None:
    assert load_flow(write_steps([step])).steps == load_flow([step]).steps


def test_a_command_with_nothing_after_its_name_is_written_alone() -> None:
    steps = [{"onFlowStart": [{"launchApp": None}]}, {"repeat": {"times": 2, "commands": [{"back": None}]}}]
    bare = [{"onFlowStart": ["launchApp"]}, {"repeat": {"times": 2, "commands": ["back"]}}]
    assert load_flow(write_steps(steps)).steps == bare


def test_the_configuration_comes_first() -> None:
    steps = [{"appId": "com.example", "env": {"NAME": "Ada"}}, "launchApp"]
    assert write_steps(steps) == "- appId: com.example\n  env:\n    NAME: Ada\n- launchApp\n"
    assert load_flow(write_steps(steps)).steps == steps


def test_a_flow_without_steps_has_no_text() -> None:
    assert write_steps([]) == ""


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_every_value_is_read_as_it_was(values: list[Any]) -> None:
    written = read_yaml(write_steps(values), "steps")
    assert _plain(written) == _plain(read_json(values, "steps"))


def _is_command(step: dict[str, Any]) -> bool:
    return list(step.values()) == [None] and bool(re.fullmatch(r"[a-z][a-zA-Z]*", next(iter(step)), re.ASCII))


def _plain(node: Any) -> Any:
    """The value of a node without locations; numbers as the text that they were, commands alone as their names."""
    if isinstance(node.value, tuple):
        items = [_plain(item) for item in node.value]
        return [(str, *item) if isinstance(item, dict) and _is_command(item) else item for item in items]
    if node.is_mapping:
        return {name: _plain(child) for name, child in node.mapping().items()}
    return None if node.is_null else (type(node.value), node.raw)

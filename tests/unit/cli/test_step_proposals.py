"""How a proposal is shown and written into the file of a flow."""

from pathlib import Path
from typing import Any

import pytest

from mobiletest_cli.errors import INVALID_FILE, CliError
from mobiletest_cli.output import Output
from mobiletest_cli.step_proposals import FlowFile, show_proposal

FLOW = """appId: com.example.shop
---
- launchApp  # as always
- tapOn:
    text: Pay

# Then the cart.
- repeat:
    times: 2
    commands:
      - tapOn: Pay  # the big one
- 'Tap "Pay"'
"""


def healing(old: Any, line: str, at: int | None, state: str = "verified") -> Any:
    proposal = {"old_step": old, "old_line": "- tapOn: Pay", "line": line, "why": "only it has the id main"}
    position = {"position": {"file": "pay.yaml", "line": at, "column": 3}} if at is not None else {}
    return {"state": state, "reason": "it failed", "check_run_id": "run-1", "proposal": {**proposal, **position}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pay.yaml"
    path.write_text(FLOW)
    return path


@pytest.mark.parametrize(
    ("old", "line", "at", "before", "after"),
    [
        ({"tapOn": {"text": "Pay"}}, "- tapOn: {text: Buy}", 4, "- tapOn:\n    text: Pay\n", "- tapOn: {text: Buy}\n"),
        ({"tapOn": "Pay"}, "- tapOn: Buy", 11, "tapOn: Pay  # the big one", "tapOn: Buy  # the big one"),
        ('Tap "Pay"', '- Tap "Buy"', None, "'Tap \"Pay\"'", 'Tap "Buy"'),
    ],
)
def test_only_the_step_is_written(file: Path, old: Any, line: str, at: int | None, before: str, after: str) -> None:
    flow = FlowFile(file, healing(old, line, at))
    assert file.read_text() == FLOW
    flow.write()
    assert file.read_text() == FLOW.replace(before, after)


def test_the_difference_is_shown_before_it_is_written(file: Path) -> None:
    diff = FlowFile(file, healing({"tapOn": "Pay"}, "- tapOn: Buy", 11)).diff
    assert "-      - tapOn: Pay  # the big one\n+      - tapOn: Buy  # the big one" in diff


@pytest.mark.parametrize("at", [10, None])
def test_a_step_that_is_not_where_it_was_is_not_replaced(file: Path, at: int | None) -> None:
    file.write_text(FLOW + "- tapOn: Pay\n")
    with pytest.raises(CliError, match="the step is") as refused:
        FlowFile(file, healing({"tapOn": "Pay"}, "- tapOn: Buy", at))
    assert refused.value.exit_code == INVALID_FILE


def test_only_what_a_run_has_confirmed_is_offered(capsys: pytest.CaptureFixture[str]) -> None:
    show_proposal(Output(), "Pay", healing("x", "- tapOn: Buy", None))
    show_proposal(Output(), "Pay", healing("x", "- tapOn: Buy", None, "refuted"))
    show_proposal(Output(), "Pay", {"state": "none", "reason": "the run has not failed"})
    verified, refuted, none = capsys.readouterr().out.split("Pay: ")[1:]
    assert "-- tapOn: Pay\n+- tapOn: Buy" in verified
    assert refuted == "the proposal - tapOn: Buy is refuted: it failed\n"
    assert none == "nothing is proposed: the run has not failed\n"

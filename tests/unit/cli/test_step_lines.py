"""The lines of a flow file that belong to a step."""

import pytest

from mobiletest_cli.local_run.step_lines import StepLines, find_step_lines

TEXT = """onFlowStart:
  - back
---
- launchApp  # first

# of the next step
- tapOn:
    id: x  # inside
    # deeper than the dash

- inputText: |
    a
    # content
- repeat:
    commands:
      - back
      # after it
      - tapOn: "a
          b"
- runFlow: {commands: [back, back]}
-   back
"""


@pytest.mark.parametrize(
    ("line", "column", "lines"),
    [
        (2, 5, StepLines(2, 2, 2)),
        (4, 3, StepLines(4, 4, 0)),
        (7, 3, StepLines(7, 9, 0)),
        (11, 3, StepLines(11, 13, 0)),
        (14, 3, StepLines(14, 19, 0)),
        (16, 9, StepLines(16, 16, 6)),
        (18, 9, StepLines(18, 19, 6)),
        (20, 3, StepLines(20, 20, 0)),
        (21, 5, StepLines(21, 21, 0)),
        (20, 24, None),
        (6, 1, None),
    ],
)
def test_a_step_has_its_lines_without_what_follows(line: int, column: int, lines: StepLines | None) -> None:
    assert find_step_lines(TEXT, line, column) == lines

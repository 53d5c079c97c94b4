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
- tapOn:
    id: x
  # of the next step
- # of this step
  tapOn: Pay
-
  tapOn: Pay
- inputText: |  # two lines
    a
    b

- runFlow: {commands: [
    back] }  # at its end
- {tapOn: "#"}  # "#"
"""


@pytest.mark.parametrize(
    ("line", "column", "lines"),
    [
        (2, 5, StepLines(2, 2, 2)),
        (4, 3, StepLines(4, 4, 0, "  # first")),
        (7, 3, StepLines(7, 8, 0, has_comments=True)),
        (11, 3, StepLines(11, 13, 0)),
        (14, 3, StepLines(14, 19, 0, has_comments=True)),
        (16, 9, StepLines(16, 16, 6)),
        (18, 9, StepLines(18, 19, 6)),
        (20, 3, StepLines(20, 20, 0)),
        (21, 5, StepLines(21, 21, 0)),
        (22, 3, StepLines(22, 23, 0)),
        (26, 3, None),
        (28, 3, None),
        (29, 3, StepLines(29, 31, 0, has_comments=True)),
        (33, 3, StepLines(33, 34, 0, has_comments=True)),
        (35, 3, StepLines(35, 35, 0, '  # "#"')),
        (20, 24, None),
        (6, 1, None),
    ],
)
def test_a_step_has_its_lines_without_what_follows(line: int, column: int, lines: StepLines | None) -> None:
    assert find_step_lines(TEXT).get((line, column)) == lines


@pytest.mark.parametrize("text", ["- [", "- back\n- 'x", "\x00"])
def test_a_file_that_is_half_written_has_no_steps(text: str) -> None:
    assert find_step_lines(text) == {}

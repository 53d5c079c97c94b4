"""How the width of a terminal is shared among the columns of a table."""

import pytest

from mobiletest_cli.column_widths import column_widths
from mobiletest_cli.output import Output

ID = "0b866b95-390f-41a0-b9ef-af31e3b28fd1"


def test_texts_that_fit_are_left_alone() -> None:
    assert column_widths([["Test", "Pay"], ["Result", "passed"]], 13) is None


def test_words_stay_whole_and_sentences_are_broken() -> None:
    """The short texts get what is left of the width first."""
    columns = [["Test", "Pay by card"], ["Result", "passed"], ["Reason", "The button was not found on the screen"]]
    assert column_widths(columns, 40) == [11, 6, 19]


def test_an_id_is_never_broken() -> None:
    columns = [["Execution", ID], ["Branch", "feature/a-very-long-name"], ["Runs", "1 passed"]]
    widths = column_widths(columns, 60)
    assert widths is not None
    assert (widths[0], sum(widths)) == (36, 56)


@pytest.mark.parametrize("width", [80, 60, 45, 20, 1])
def test_a_table_is_not_wider_than_the_terminal(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    Output().table(("Execution", "Of", "Branch"), [[ID, "every night 日本語日本語", "feature/a-very-long-name"]])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert width < 45 or any(ID in line for line in lines)

"""Lists as CSV."""

import csv
import io

import pytest

from services.gateway.dashboard.csv_tables import row_of, write_lines


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1+1"]
)
def test_no_text_is_a_formula(text: str) -> None:
    """CWE-1236: the cell begins with an apostrophe, and says the same."""
    [[cell]] = csv.reader(io.StringIO(write_lines([[text]]).decode(), newline=""))
    assert cell == f"'{text}"


@pytest.mark.parametrize("value", ["-5", "+1.5", "-1e-3", "1.2.0", "a=b", "", -5, -0.5])
def test_numbers_and_other_texts_are_as_they_are(value: object) -> None:
    [[cell]] = csv.reader(
        io.StringIO(
            write_lines(
                [
                    [
                        value,
                    ]
                ]
            ).decode()
        )
    )
    assert cell == str(value)


def test_lines_are_of_rfc_4180() -> None:
    assert write_lines([["a", 'say "x"', "1,2", "two\nlines"], [None, True, 1.5, "\u05d0\ud800"]]) == (
        'a,"say ""x""","1,2","two\nlines"\r\n,true,1.5,\u05d0?\r\n'.encode()
    )


def test_columns_are_fields_of_rest() -> None:
    item = {"ci": {"branch": "main"}, "tags": ["a", "b"], "gone": None, "objects": [{"x": 1}]}
    row = row_of(item, ("ci.branch", "tags", "gone.reason", "missing", "objects"))
    assert row == ["main", "a; b", None, None, [{"x": 1}]]
    assert write_lines([row]) == b'main,a; b,,,"[{""x"":1}]"\r\n'

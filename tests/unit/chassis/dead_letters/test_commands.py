"""The arguments of the commands; the rest needs a broker: tests/integration/chassis/test_dead_letters.py."""

import pytest

from services.chassis.dead_letters.__main__ import build_parser


def test_reason_may_be_repeated() -> None:
    parsed = build_parser().parse_args(["replay", "t", "--reason", "BAD", "--reason", "WORSE"])
    assert parsed.reason == ["BAD", "WORSE"]


@pytest.mark.parametrize("limit", ["0", "-1", "many", ""])
def test_a_limit_must_be_positive(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["list", f"--limit={limit}"])
    assert "must be a whole number" in capsys.readouterr().err

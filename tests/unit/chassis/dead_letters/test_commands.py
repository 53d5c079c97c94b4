"""What the commands take; what they do needs a broker: tests/integration/chassis/test_dead_letters.py."""

import pytest

from services.chassis.dead_letters.commands import parser


def test_a_reason_may_be_named_again_and_again() -> None:
    asked = parser().parse_args(["replay", "t", "--reason", "BAD", "--reason", "WORSE", "--limit", "5"])
    assert (asked.topics, asked.reason, asked.limit, asked.again, asked.dry_run) == (
        ["t"],
        ["BAD", "WORSE"],
        5,
        False,
        False,
    )


@pytest.mark.parametrize("limit", ["0", "-1", "many", ""])
def test_a_limit_is_one_or_more(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["list", f"--limit={limit}"])
    assert "needs a whole number" in capsys.readouterr().err

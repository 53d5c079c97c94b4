"""What a missing server of the tests means."""

import pytest

from tests.conftest import skip_or_fail


@pytest.mark.parametrize(("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_missing_infrastructure_skips_with_the_reason_and_in_ci_fails(
    monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="no broker"):
        skip_or_fail("no broker")

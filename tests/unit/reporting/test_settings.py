"""The constants of the definitions are settings, with the evaluated values as defaults."""

from datetime import timedelta

from pydantic import SecretStr

from services.reporting.model.list_positions import RetentionLimits
from services.reporting.model.projection import DEFAULT_RULES
from services.reporting.settings import Settings


def test_the_defaults_are_those_of_the_definition() -> None:
    assert Settings(service_token=SecretStr("t" * 20)).rules == DEFAULT_RULES


def test_each_constant_can_be_set() -> None:
    settings = Settings(service_token=SecretStr("t" * 20), flaky_window=20, flaky_score=0.1, storm_percent=90)
    assert (settings.rules.flaky.window, settings.rules.flaky.flaky_score, settings.rules.storm.percent) == (
        20,
        0.1,
        90,
    )


def test_runs_stay_in_lists_without_a_limit() -> None:
    token = SecretStr("t" * 20)
    assert not Settings(service_token=token).retention
    bounded = Settings(service_token=token, runs_kept_days=90, runs_kept_per_test=1000)
    assert bounded.retention == RetentionLimits(timedelta(days=90), 1000)

"""The variables that reporting reads."""

from datetime import timedelta

from pydantic import Field

from services.chassis.settings import ProcessSettings
from services.reporting.model.flaky import FlakyRules
from services.reporting.model.list_positions import RetentionLimits
from services.reporting.model.projection import ProjectionRules
from services.reporting.model.storms import StormRules


class Settings(ProcessSettings):
    """In addition to those of every process: the database, the addresses of the history, retention, the limit of
    invalid messages, and the constants of docs/flaky.md.

    Changing a constant changes what is folded from then on; a rebuild applies it to the past.
    """

    mongo_database: str = Field(default="reporting", validation_alias="MOBILETEST_REPORTING_DATABASE")
    """Reporting's database."""
    consumer_group: str = Field(default="mobiletest-reporting", validation_alias="MOBILETEST_REPORTING_GROUP")
    """The consumer group that folds events into read models."""
    catalog_address: str = "127.0.0.1:50051"
    """Where verify and rebuild read the history of tests and builds."""
    executor_address: str = "127.0.0.1:50052"
    """Where verify and rebuild read the history of runs."""
    generation_drop_seconds: float = Field(default=60.0, ge=0)
    """How long replaced read models are kept for calls that still read them. It exceeds the sum of FRESH_SECONDS,
    ANSWER_SECONDS and an election of MongoDB (10 s), during which a replaced primary may still answer."""
    fold_batch: int = Field(default=5000, ge=1, le=10_000)
    """The most events that are folded in one transaction."""
    invalid_share: float = Field(default=0.5, gt=0, le=1)
    """The share of invalid messages at which reporting stops; 1: never."""
    invalid_window: int = Field(default=200, ge=100, le=100_000)
    """How many of a topic's newest messages that share is taken of."""
    runs_kept_days: float = Field(default=0.0, ge=0)
    """How long runs stay in lists after they were accepted; 0: without limit. No figure depends on it."""
    runs_kept_per_test: int = Field(default=0, ge=0)
    """How many runs of a test stay in lists (the newest); 0: all. No figure depends on it."""
    flaky_window: int = Field(default=40, ge=3, le=200)
    """How many of a test's newest attempts count (docs/flaky.md, as for the other constants)."""
    flaky_half_life: float = Field(default=30.0, gt=0)
    """After how many attempts the weight of a pair of attempts halves."""
    flaky_prior: float = Field(default=2.0, gt=0)
    """Added to the weights that the score divides by; a larger one needs more evidence."""
    flaky_score: float = Field(default=0.075, ge=0, le=1)
    """The score from which a test may be flaky."""
    flaky_alone: int = Field(default=2, ge=1)
    """How many lone failures make a test flaky that never had both verdicts on one build."""
    flaky_decided: int = Field(default=3, ge=1)
    """With fewer attempts that passed or failed a test has insufficient data."""
    broken_streak: int = Field(default=3, ge=1)
    """How many failures in a row make a test broken."""
    broken_streak_mixed: int = Field(default=5, ge=1)
    """The same for a test that had both verdicts on one build."""
    regressed_passes: int = Field(default=3, ge=1)
    """How many passes before a failing streak make a test regressed."""
    recovered_streak: int = Field(default=3, ge=1)
    """How many passes after as many failures make a test recovered."""
    storm_tests: int = Field(default=5, ge=1)
    """From how many tests on an execution can be an infrastructure storm."""
    storm_percent: int = Field(default=80, ge=1, le=100)
    """The share of them, in percent, that fails with one fingerprint in a storm."""

    @property
    def retention(self) -> RetentionLimits:
        """How long runs stay in lists."""
        age = timedelta(days=self.runs_kept_days) if self.runs_kept_days else None
        return RetentionLimits(age, self.runs_kept_per_test or None)

    @property
    def rules(self) -> ProjectionRules:
        """The constants as the model takes them."""
        flaky = FlakyRules(
            window=self.flaky_window,
            half_life=self.flaky_half_life,
            prior=self.flaky_prior,
            flaky_score=self.flaky_score,
            flaky_alone=self.flaky_alone,
            decided=self.flaky_decided,
            broken_streak=self.broken_streak,
            broken_streak_mixed=self.broken_streak_mixed,
            regressed_passes=self.regressed_passes,
            recovered_streak=self.recovered_streak,
        )
        return ProjectionRules(flaky, StormRules(self.storm_tests, self.storm_percent))

"""Why a run did not pass: the closed list of failure categories, and whose fault each is."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from mobiletest_automation.flows.positions import SourcePosition


class Category(StrEnum):
    """What went wrong, as spelled in the API."""

    ASSERTION_FAILED = "assertion_failed"
    ELEMENT_NOT_FOUND = "element_not_found"
    STEP_TIMEOUT = "step_timeout"
    APP_CRASH = "app_crash"
    APP_NOT_RESPONDING = "app_not_responding"
    APP_LAUNCH_FAILED = "app_launch_failed"
    SCRIPT_ERROR = "script_error"
    GOAL_NOT_REACHED = "goal_not_reached"

    DEVICE_UNAVAILABLE = "device_unavailable"
    SESSION_LOST = "session_lost"
    APP_INSTALL_FAILED = "app_install_failed"
    NETWORK_ERROR = "network_error"
    LLM_UNAVAILABLE = "llm_unavailable"
    EXECUTOR_LOST = "executor_lost"
    QUEUE_TIMEOUT = "queue_timeout"

    CONFIG_INVALID = "config_invalid"
    ARTIFACT_INVALID = "artifact_invalid"
    RUN_TIMEOUT = "run_timeout"
    LLM_BUDGET_EXCEEDED = "llm_budget_exceeded"
    CANCELLED_BY_USER = "cancelled_by_user"
    CANCELLED_SUPERSEDED = "cancelled_superseded"
    CANCELLED_AFTER_FAILURE = "cancelled_after_failure"
    UNKNOWN = "unknown"

    @property
    def fault(self) -> "Fault":
        return _FAULTS.get(self, Fault.NEITHER)


class Fault(Enum):
    """Whose fault a failure is, which decides whether the run is attempted again."""

    # The app or the test: a failing verdict, attempted again up to `retries` times.
    TEST = auto()
    # The infrastructure: no verdict, attempted again up to twice in addition to `retries`.
    INFRASTRUCTURE = auto()
    # No verdict, and another attempt would not help.
    NEITHER = auto()


_FAULTS: Mapping[Category, Fault] = {
    Category.ASSERTION_FAILED: Fault.TEST,
    Category.ELEMENT_NOT_FOUND: Fault.TEST,
    Category.STEP_TIMEOUT: Fault.TEST,
    Category.APP_CRASH: Fault.TEST,
    Category.APP_NOT_RESPONDING: Fault.TEST,
    Category.APP_LAUNCH_FAILED: Fault.TEST,
    Category.SCRIPT_ERROR: Fault.TEST,
    Category.GOAL_NOT_REACHED: Fault.TEST,
    Category.DEVICE_UNAVAILABLE: Fault.INFRASTRUCTURE,
    Category.SESSION_LOST: Fault.INFRASTRUCTURE,
    Category.APP_INSTALL_FAILED: Fault.INFRASTRUCTURE,
    Category.NETWORK_ERROR: Fault.INFRASTRUCTURE,
    Category.LLM_UNAVAILABLE: Fault.INFRASTRUCTURE,
    Category.EXECUTOR_LOST: Fault.INFRASTRUCTURE,
    Category.QUEUE_TIMEOUT: Fault.INFRASTRUCTURE,
}

CANCELLATIONS = frozenset({Category.CANCELLED_BY_USER, Category.CANCELLED_SUPERSEDED, Category.CANCELLED_AFTER_FAILURE})


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt, a run or an execution did not pass.

    `message` is for people; `reason` is the first failing step's message in a form that equal failures share.
    `step_index` counts from 0; it is None, and `step_kind` empty, when no step failed. `step_kind` is empty, too, when
    the app crashed and its exception is known: equal ones belong together in whatever step they happen. `position` is
    where the step is written, None if that is not known, and `run_from` the steps that run its file, innermost first.
    """

    category: Category
    message: str
    reason: str = ""
    step_index: int | None = None
    step_kind: str = ""
    position: SourcePosition | None = None
    run_from: tuple[SourcePosition, ...] = ()

    @property
    def trace(self) -> str:
        """The position with the message, and below it where its file is run from; "" if the position is not known."""
        if self.position is None:
            return ""
        return "\n".join((f"{self.position}: {self.message}", *(f"  run from {each}" for each in self.run_from)))


NO_PLATFORM = Failure(
    Category.CONFIG_INVALID,
    "The test has no platform to run on: set the test's platform to iOS or Android, or attach the test to an app.",
    reason="The test has no platform to run on.",
)


def cancellation(superseded_by: str | None) -> Failure:
    """Why something was cancelled: for a newer execution if one is named, else on request."""
    if superseded_by is None:
        return Failure(Category.CANCELLED_BY_USER, "Cancelled on request.", reason="Cancelled on request.")
    message = f"Superseded by execution {superseded_by}."
    return Failure(Category.CANCELLED_SUPERSEDED, message, reason="Superseded by a newer execution.")


def not_run_after(failed: str) -> Failure:
    """Why a test is not run whose order continues only after tests that pass; `failed` is the name of one before it."""
    message = f'Not run: "{failed}" before it in the order did not pass, and continueOnFailure is false.'
    return Failure(Category.CANCELLED_AFTER_FAILURE, message, reason="A test before it in the order did not pass.")

"""What a run asks a person (run_config.execution_mode.human_in_the_loop)."""

from dataclasses import dataclass, replace
from datetime import datetime

from services.executor.model.attempts import Artifact


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPrompt:
    """What a worker asks. The answer is one of the `options`, or a step to carry out instead; `screenshot` names an
    artifact.
    """

    id: str
    text: str
    step_index: int
    options: tuple[str, ...] = ()
    screenshot: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question of the latest attempt, `open` until it is answered, withdrawn, or its run is cancelled."""

    asked: QuestionPrompt
    asked_at: datetime
    expires_at: datetime
    answer: str | None = None
    open: bool = True

    @property
    def screenshot_artifact(self) -> Artifact | None:
        """The screenshot, which can be downloaded while the attempt is still running."""
        name = self.asked.screenshot
        return Artifact(name=name, kind="screenshot", content_type="image/png", size_bytes=0) if name else None


def close_question(question: Question | None) -> Question | None:
    """The question, no longer open."""
    return replace(question, open=False) if question is not None and question.open else question

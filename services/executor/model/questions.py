"""What a run asks a person (run_config.execution_mode.human_in_the_loop)."""

from dataclasses import dataclass, replace
from datetime import datetime

from services.executor.model.attempts import Artifact


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPrompt:
    """A question as a worker puts it: `options` can be answered besides a step to carry out instead, `screenshot` is
    the name of an artifact.
    """

    id: str
    text: str
    step_index: int
    options: tuple[str, ...] = ()
    screenshot: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question of the newest attempt. It is `open` until it is answered, withdrawn, or its run is to end; `answer`
    is for the worker to fetch.
    """

    asked: QuestionPrompt
    asked_at: datetime
    expires_at: datetime
    answer: str | None = None
    open: bool = True

    @property
    def picture(self) -> Artifact | None:
        """The screenshot, which can be read while the attempt still goes on."""
        name = self.asked.screenshot
        return Artifact(name=name, kind="screenshot", content_type="image/png", size_bytes=0) if name else None


def close_question(question: Question | None) -> Question | None:
    """The question when nobody may answer it any more."""
    return replace(question, open=False) if question is not None and question.open else question

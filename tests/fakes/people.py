"""A person who answers questions about steps, for tests of the automation."""

import asyncio
from collections.abc import Callable

from mobiletest_automation.ports import HumanQuestion


class FakeHuman:
    """Gives the answers in turn, then None; with `silent` it never answers. `questions` are those asked.

    `meanwhile` happens while it thinks.
    """

    def __init__(self, *answers: str | None, silent: bool = False) -> None:
        self._answers = list(answers)
        self._silent = silent
        self.questions: list[HumanQuestion] = []
        self.meanwhile: Callable[[], None] = lambda: None

    async def ask(self, question: HumanQuestion) -> str | None:
        self.questions.append(question)
        self.meanwhile()
        if self._silent:
            await asyncio.Event().wait()
        return self._answers.pop(0) if self._answers else None

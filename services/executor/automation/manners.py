"""How sentences are carried out in an attempt: who has the first word on them, and what is asked of whom."""

from collections.abc import Callable
from dataclasses import dataclass

from services.executor.automation.deciding import CHECKS
from services.executor.automation.ports import StepKey
from services.executor.automation.sentences.intents import Action, Intent, NotUnderstood
from services.executor.model.run_config import CacheRetryMode, Grounder

LOOKS_ONLY = frozenset({Action.ASSERT_VISIBLE, Action.ASSERT_NOT_VISIBLE, Action.WAIT_FOR, Action.SCREENSHOT, *CHECKS})
"""What has reached its aim when it is done, since it is a check itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """`fallback` allows asking a model where the rules end, and `cached` gives the key under which the step cache has a
    sentence.
    """

    cached: Callable[[str], StepKey]
    grounder: Grounder = Grounder.ACCESSIBILITY
    fallback: bool = True
    cache_retry: CacheRetryMode = CacheRetryMode.STEP
    planning: bool = False
    reflections: int | None = None
    """How often a step that missed its aim is tried again; None: nobody judges."""

    @property
    def sees(self) -> bool:
        """Whether models get pictures of the screen."""
        return self.grounder is Grounder.VISION

    @property
    def asks(self) -> bool:
        """Whether a model is asked where the rules end."""
        return self.fallback or self.grounder is not Grounder.ACCESSIBILITY

    def rules_first(self, meaning: Intent | NotUnderstood) -> bool:
        """Whether the rules have the first word. On what they can check they have it unless only pictures are to be
        believed: a model that reads the same list of elements cannot know better.
        """
        if self.grounder is Grounder.LLM:
            return isinstance(meaning, Intent) and meaning.action in LOOKS_ONLY
        return self.grounder is Grounder.ACCESSIBILITY

    def provable(self, meaning: Intent | NotUnderstood) -> Intent | None:
        """What a model has to show for its word; on pictures it has no checks to show."""
        if isinstance(meaning, NotUnderstood):
            return None
        return None if self.sees and meaning.action in LOOKS_ONLY else meaning

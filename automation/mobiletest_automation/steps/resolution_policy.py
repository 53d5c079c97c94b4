"""How the sentences of an attempt are resolved: by rules or by a model, and which of them is tried first."""

from dataclasses import dataclass

from mobiletest_automation.model.run_config import FallbackTrigger, Grounder, RunConfig
from mobiletest_automation.sentences.intents import ELEMENT_CHECKS, Action, Intent, NotUnderstood

# Actions that have reached their aim when they are done, because they are checks themselves.
SELF_CHECKING = frozenset(
    {Action.ASSERT_VISIBLE, Action.ASSERT_NOT_VISIBLE, Action.WAIT_FOR, Action.SCREENSHOT, *ELEMENT_CHECKS}
)

Meaning = Intent | NotUnderstood


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionPolicy:
    """Whether rules or the model are tried first, and when to fall back to the other.

    `fallback` allows a model where the rules have no answer. `reflections` is how often a step that missed its aim is
    repeated, None if no model judges that.
    """

    grounder: Grounder = Grounder.ACCESSIBILITY
    fallback: bool = True
    planning: bool = False
    reflections: int | None = None

    @property
    def sees_pictures(self) -> bool:
        """Whether models get screenshots."""
        return self.grounder is Grounder.VISION

    @property
    def may_ask_model(self) -> bool:
        """Whether a model is asked where the rules have no answer."""
        return self.fallback or self.grounder is not Grounder.ACCESSIBILITY

    def rules_first(self, meaning: Meaning) -> bool:
        """Whether the rules are tried before a model.

        A model that reads the same list of elements cannot check better than the rules; one that sees pictures can.
        """
        if self.grounder is Grounder.LLM:
            return isinstance(meaning, Intent) and meaning.action in SELF_CHECKING
        return self.grounder is Grounder.ACCESSIBILITY

    def cache_first(self, meaning: Meaning) -> bool:
        """Whether the step cache is asked before the rules, because a hit saves a call of a model.

        Where the rules alone carry a sentence out, the cache would cost a read and save nothing.
        """
        if isinstance(meaning, NotUnderstood) or not self.rules_first(meaning):
            return True
        return self.reflections is not None and meaning.action not in SELF_CHECKING

    def checkable(self, meaning: Meaning) -> Intent | None:
        """What a model has to prove when it says that it is done; by pictures it cannot prove checks."""
        if isinstance(meaning, NotUnderstood):
            return None
        return None if self.sees_pictures and meaning.action in SELF_CHECKING else meaning


def resolution_policy(config: RunConfig, *, ask_model: bool) -> ResolutionPolicy:
    """The policy of a configuration with its defaults filled in; `ask_model` is the attempt's mode."""
    mode = config.execution_mode
    return ResolutionPolicy(
        grounder=mode.grounder_type or Grounder.ACCESSIBILITY,
        fallback=ask_model and config.fallback_trigger is not FallbackTrigger.NEVER,
        planning=bool(mode.enable_planning),
        reflections=(mode.reflection_retries or 0) if mode.enable_reflection else None,
    )


def needs_model(config: RunConfig, *, ask_model: bool) -> bool:
    """Whether the attempt asks a model by its configuration, or by its mode."""
    mode = config.execution_mode
    asks = mode.enable_planning or mode.enable_reflection or mode.grounder_type is not Grounder.ACCESSIBILITY
    return asks or (ask_model and config.fallback_trigger is FallbackTrigger.FINAL_FAIL)

"""What is known of a flow before its first step runs."""

from collections.abc import Sequence

from mobiletest_automation.flows.app_commands import LaunchApp, OpenBrowser, OpenLink
from mobiletest_automation.flows.capture_commands import AiCommand
from mobiletest_automation.flows.selectors import ALWAYS
from mobiletest_automation.flows.steps import Flow, Repeat, Retry, RunFlow, Sentence, Step
from mobiletest_automation.model.run_config import RunConfig
from mobiletest_automation.sentences.grammar import parse_sentence
from mobiletest_automation.sentences.intents import Action, Intent
from mobiletest_automation.steps.model_access import NO_MODEL
from mobiletest_automation.steps.resolution_policy import needs_model

NEVER_LAUNCHED = "no step launches the app: begin with launchApp"


def begins_launched(flow: Flow) -> bool:
    """Whether the app is launched before the first step: there is a sentence before anything that starts the app.

    Commands alone do what they say, as in Maestro.
    """
    return _finds_sentence((*flow.on_start, *flow.steps)) is True


def _finds_sentence(steps: Sequence[Step]) -> bool | None:
    """Whether a sentence comes first; False for what certainly starts the app, None for neither."""
    for step in steps:
        is_sentence: bool | None = None
        match step.command:
            case Sentence(text):
                return not _is_launch(text)
            case LaunchApp() | OpenLink():
                is_sentence = None if step.optional else False
            case RunFlow(commands, when=condition) | Repeat(commands, condition=condition):
                is_sentence = _finds_sentence(commands)
                # What runs only under a condition does not certainly start the app.
                is_sentence = None if is_sentence is False and (step.optional or condition != ALWAYS) else is_sentence
            case Retry(commands):
                is_sentence = _finds_sentence(commands)
        if is_sentence is not None:
            return is_sentence
    return None


def _is_launch(sentence: str) -> bool:
    meaning = parse_sentence(sentence)
    return isinstance(meaning, Intent) and meaning.action is Action.LAUNCH_APP


def starts_app(flow: Flow) -> bool:
    """Whether any step may start the app."""
    return any(isinstance(step.command, LaunchApp | OpenLink | OpenBrowser | Sentence) for step in flow.every_step())


def why_model_is_needed(flow: Flow, config: RunConfig, *, ask_model: bool) -> str:
    """What is wrong if no model is configured; empty if nothing is."""
    if needs_model(config, ask_model=ask_model):
        return NO_MODEL
    for step in flow.every_step():
        if isinstance(step.command, AiCommand):
            return (
                f"{step.name} ({step.path}) asks a model, and none is configured: "
                "set MOBILETEST_LLM_BASE_URL where the test runs (a worker or `mobiletest run --local`), "
                "or remove the step"
            )
    return ""

"""What is known of a flow before its first step runs."""

from services.executor.automation.sentences.grammar import parse_sentence
from services.executor.automation.sentences.intents import Action, Intent
from services.executor.automation.steps.model_access import NO_MODEL
from services.executor.automation.steps.resolution_policy import needs_model
from services.executor.model.run_config import RunConfig
from services.flows.capture_commands import AiCommand
from services.flows.device_commands import LaunchApp
from services.flows.steps import Flow, ScriptCommand, Sentence


def launches_app(flow: Flow) -> bool:
    """Whether the first step that is not a script launches the app."""
    steps = (*flow.on_start, *flow.steps)
    step = next((step for step in steps if not isinstance(step.command, ScriptCommand)), steps[0])
    if isinstance(step.command, Sentence):
        meaning = parse_sentence(step.command.text)
        return isinstance(meaning, Intent) and meaning.action is Action.LAUNCH_APP
    return isinstance(step.command, LaunchApp)


def why_model_is_needed(flow: Flow, config: RunConfig, *, ask_model: bool) -> str:
    """What is wrong if no model is configured; empty if nothing is."""
    if needs_model(config, ask_model=ask_model):
        return NO_MODEL
    for step in flow.every_step():
        if isinstance(step.command, AiCommand):
            return (
                f"{step.name} ({step.path}) asks a model, and none is configured: "
                "set MOBILETEST_LLM_BASE_URL for the executor's workers, or remove the step"
            )
    return ""

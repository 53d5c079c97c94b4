"""The variables of steps, and the steps that are scripts: what goes wrong in a script is how its step fails."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

from mobiletest_automation.commands.context import command_outcome
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.flows.script_commands import EvalScript, RunScript, ScriptCommand
from mobiletest_automation.flows.steps import Step
from mobiletest_automation.flows.templates import is_template
from mobiletest_automation.flows.texts import shorten
from mobiletest_automation.flows.variables import VariableScope
from mobiletest_automation.model.failures import Category
from mobiletest_automation.outcome import ScriptFailed, StepFailed, StepOutcome
from mobiletest_automation.scripting.limits import ScriptError
from mobiletest_automation.scripting.templates import Templates
from mobiletest_automation.secret_texts import SecretTexts

NOTHING_EVALUATED = "nothing was evaluated, because the text has no ${...}"
# Characters of console.log that a step shows.
_LOG_LIMIT = 2_000


class ScriptRunner:
    """Of one attempt; `scope` has the variables of the flow.

    Raises:
        StepFailed: the step cannot be carried out.
        ScriptFailed: for what a script does wrong.
    """

    def __init__(self, templates: Templates, secrets: SecretTexts, scope: VariableScope) -> None:
        self._templates = templates
        self._secrets = secrets
        self._scope = scope

    async def fill(self, step: Step) -> Step:
        """The step with the values that its variables have now."""
        with _failing_step():
            return await self._templates.fill_step(step, self._scope)

    def set_variables(self, values: Mapping[str, str]) -> None:
        """For the steps that follow, until the flow around them ends."""
        if values:
            self._scope = self._scope.within(values)
            self._secrets.add_variables(values)

    @asynccontextmanager
    async def inner_flow(self, env: Iterable[tuple[str, str]]) -> AsyncIterator[None]:
        """The steps inside have these variables too, whose secrets are masked from now on."""
        outer, self._scope = self._scope, await self._extend(env)
        try:
            yield
        finally:
            self._scope = outer
            self._secrets.add_variables(outer.values)

    async def _extend(self, env: Iterable[tuple[str, str]]) -> VariableScope:
        with _failing_step():
            inner = await self._templates.extend(self._scope, env)
        self._secrets.add_variables(inner.values)
        return inner

    async def run(self, command: ScriptCommand) -> StepOutcome:
        """The outcome says what the script has logged."""
        match command:
            case EvalScript(template) if not is_template(template):
                return command_outcome(command, message=NOTHING_EVALUATED)
            case EvalScript(template):
                with _failing_step():
                    await self._templates.run(template, self._scope, "evalScript")
            case RunScript(script, file, env):
                inner = await self._extend(env)
                with _failing_step():
                    await self._templates.run_script(script, inner, file)
        return command_outcome(command, message=shorten("\n".join(self._templates.take_log()), _LOG_LIMIT))


@contextmanager
def _failing_step() -> Iterator[None]:
    try:
        yield
    except DocumentError as error:
        message = f"{error.message} ({error.path})"
        raise StepFailed(Category.SCRIPT_ERROR, message, reason=error.message, path=error.path) from error
    except ScriptError as error:
        raise ScriptFailed(str(error), error.path) from error

"""Fills in the ${...} of steps: names of variables here, everything else in the script engine."""

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from mobiletest_automation.flows.nodes import DocumentError, Node, quote, suggest
from mobiletest_automation.flows.parser import fill_step
from mobiletest_automation.flows.steps import Sentence, Step
from mobiletest_automation.flows.templates import Expression, ExpressionError, parse_template
from mobiletest_automation.flows.texts import cut
from mobiletest_automation.flows.variables import VariableScope, pending_scalars
from mobiletest_automation.scripting.engine import Script, ScriptEngine, ScriptResult
from mobiletest_automation.scripting.limits import ScriptError
from mobiletest_automation.scripting.text_expressions import evaluate_texts

TEXT_LIMIT = 20_000
COPIED = "maestro.copiedText"
PLATFORM = "maestro.platform"
_NAME = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
# Names that no variable can have.
_OURS = frozenset(("output", "maestro", "http", "faker", "json", "relativePoint", "console"))
# Paths of texts that are only compared: there, undefined and null are false.
_CONDITION = re.compile(r"\.(?:true|assertTrue|assertTrue\.condition)$")
_WORD = re.compile(r"[\w$]+", re.UNICODE)
_TYPEOF = re.compile(r"typeof\s*\(?\s*([A-Za-z_$][\w$]*)", re.ASCII)
# How scripts begin that declare something, or that are only a comment.
_WITHOUT_VALUE = re.compile(r"(?:(?:const|let|var|function|class)\b|[;/{])", re.UNICODE)
_BESIDE = (
    "{0} is a variable of the same env, whose values do not see each other, as in Maestro: write the value of {0} "
    "here, or set it outside"
)
# What the names of variables begin with that the environment of the command line may set.
_OF_SHELL = "MAESTRO_"
_WHY_UNDEFINED = {
    COPIED: "nothing has been copied: use copyTextFrom first",
    "MAESTRO_APP_ID": "the build has no package name",
}


def maestro_variables(app_id: str | None, flow_name: str) -> Mapping[str, str]:
    """Variables that a flow finds in Maestro, without the device's. A test runs on its own, so there is one shard."""
    named = {
        "MAESTRO_APP_ID": app_id,
        "MAESTRO_FILENAME": flow_name,
        "MAESTRO_SHARD_ID": "1",
        "MAESTRO_SHARD_INDEX": "0",
    }
    return {name: value for name, value in named.items() if value}


class Templates:
    """The templates of one attempt."""

    def __init__(self, engine: ScriptEngine) -> None:
        self._engine = engine

    async def fill_step(self, step: Step, scope: VariableScope) -> Step:
        """The step with the values that its variables have now; each expression is evaluated once.

        Raises:
            DocumentError: one has no value, or the command refuses it.
            ScriptError: an expression or a script fails, or exceeds a limit.
        """
        if step.pending is None:
            return step
        rule = _within_quotes if isinstance(step.command, Sentence) else _typed
        texts = [await self._fill_scalar(each, scope, rule) for each in pending_scalars(step.pending)]
        return fill_step(step, texts)

    async def extend(self, scope: VariableScope, env: Iterable[tuple[str, str]]) -> VariableScope:
        """The scope with more variables, whose templates all use those of the scope.

        A variable whose template is one undefined value has none: `NAME: ${NAME}` says that it is set from outside.

        Raises:
            DocumentError: a template is malformed.
            ScriptError: an expression or a script fails, or exceeds a limit.
        """
        filled: dict[str, str] = {}
        without_value: dict[str, UndefinedValue] = {}
        for name, raw in env:
            try:
                filled[name] = await self.fill(raw, scope, f"env.{name}")
            except UndefinedValue as error:
                without_value[name] = error
            except ExpressionError as error:
                raise DocumentError(f"env.{name}", None, None, str(error)) from error
            except ScriptError as error:
                error.path = f"env.{name}"
                raise
        for name, undefined in without_value.items():
            beside = next((each for each in undefined.names if each in filled), None)
            if beside is not None or not undefined.is_all:
                why = str(undefined) if beside is None else _BESIDE.format(beside)
                raise DocumentError(f"env.{name}", None, None, why) from undefined
        kept = {name: value for name, value in scope.values.items() if name not in without_value}
        return VariableScope(scope.built_in, {**kept, **filled})

    async def run(self, text: str, scope: VariableScope, place: str) -> None:
        """Evaluate the expressions of a text, whatever their values are.

        Raises:
            ScriptError: an expression or a script fails, or exceeds a limit.
        """
        for part in parse_template(text).parts:
            if isinstance(part, Expression):
                await self._evaluate(part, scope, place, fuel=self._engine.limits.script_fuel)

    async def run_script(self, source: str, scope: VariableScope, file: str) -> None:
        """Run a script of runScript or evalScript.

        Raises:
            ScriptError: an expression or a script fails, or exceeds a limit.
        """
        script = _script(source, scope, file, self._engine.limits.script_fuel)
        await self._engine.evaluate(replace(script, folder=posixpath.dirname(file)))

    def take_log(self) -> tuple[str, ...]:
        """What scripts have logged since the last call."""
        return self._engine.take_log()

    async def fill(self, text: str, scope: VariableScope, place: str, rule: "Rule | None" = None) -> str:
        """The text with the values of its expressions.

        Raises:
            ExpressionError: one has none.
            ScriptError: an expression or a script fails, or exceeds a limit.
        """
        texts: list[str] = []
        parts = parse_template(text).parts
        for part in parts:
            if isinstance(part, str):
                texts.append(part)
                continue
            result = await self._evaluate(part, scope, place)
            if result.kind == "undefined" and rule is None:
                why = _why_undefined(part, result, scope)
                raise UndefinedValue(why, is_all=len(parts) == 1, names=result.unknown_names)
            texts.append((rule or _typed)(result, part, scope))
        if sum(map(len, texts)) > TEXT_LIMIT:
            raise ExpressionError(f"the text becomes longer than {TEXT_LIMIT} characters")
        return "".join(texts)

    async def _fill_scalar(self, scalar: Node, scope: VariableScope, rule: "Rule") -> str:
        path = scalar.location.path
        is_condition = _CONDITION.search(path) is not None
        text = scalar.raw.strip() if is_condition else scalar.raw
        try:
            return await self.fill(text, scope, path, _compared if is_condition else rule)
        except ExpressionError as error:
            raise scalar.error(str(error)) from error
        except ScriptError as error:
            error.path = path
            raise

    async def _evaluate(
        self, expression: Expression, scope: VariableScope, place: str, *, fuel: int | None = None
    ) -> ScriptResult:
        source = expression.source
        known = _known_value(source, scope)
        if known is not None:
            return known
        place = f"{place}, in ${{{cut(' '.join(source.split()), 80)}}}"
        return await self._engine.evaluate(_script(source, scope, place, fuel or self._engine.limits.expression_fuel))


class UndefinedValue(ExpressionError):
    """An expression of a variable's template is undefined; `is_all` if the template is only this expression.

    `names` are the unknown names in it.
    """

    def __init__(self, message: str, *, is_all: bool, names: tuple[str, ...]) -> None:
        super().__init__(message)
        self.is_all = is_all
        self.names = names


# How a value becomes text. Raise ExpressionError.
Rule = Callable[[ScriptResult, Expression, VariableScope], str]


def _script(source: str, scope: VariableScope, place: str, fuel: int) -> Script:
    return Script(
        source=source,
        place=place,
        fuel=fuel,
        variables=scope.variables,
        copied=scope.built_in.copied,
        platform=scope.built_in.platform,
    )


def _known_value(source: str, scope: VariableScope) -> ScriptResult | None:
    """The value of names and texts, without the engine; None if only the engine knows it."""
    if not source:
        return ScriptResult("text")
    value = _named_value(source, scope)
    if value is not None:
        return ScriptResult("text", value)
    match evaluate_texts(source, lambda name: _named_value(name, scope)):
        case bool() as truth:
            return ScriptResult("boolean", str(truth).lower())
        case str() as text:
            return ScriptResult("text", text)
        case _:
            return None


def _named_value(name: str, scope: VariableScope) -> str | None:
    match name:
        case _ if name == COPIED:
            return scope.built_in.copied
        case _ if name == PLATFORM:
            return scope.built_in.platform or None
        case _ if name in _OURS or not _NAME.fullmatch(name):
            return None
        case _:
            return scope.variables.get(name)


def _compared(result: ScriptResult, expression: Expression, scope: VariableScope) -> str:
    """The text that is compared: undefined and null as they are written."""
    return result.kind if result.kind in ("undefined", "null") else result.text


def _typed(result: ScriptResult, expression: Expression, scope: VariableScope) -> str:
    """The text that is typed, looked for, or opened."""
    source = quote(expression.source)
    if result.kind == "undefined" or (_shows_undefined(result) and not _asks_only_for_types(expression, result)):
        raise ExpressionError(_why_undefined(expression, result, scope))
    if result.kind == "null" or (result.kind == "number" and result.text == "NaN"):
        raise ExpressionError(f"{source} is {result.text or result.kind}")
    if result.kind == "object":
        raise ExpressionError(f"{source} is an object, not a text: use one of its fields, or JSON.stringify(...)")
    return result.text


def _within_quotes(result: ScriptResult, expression: Expression, scope: VariableScope) -> str:
    """The text in a sentence, where a quote would end the quoted text around it."""
    text = _typed(result, expression, scope)
    if '"' in text:
        raise ExpressionError(f"the value of {expression.source} contains a quote: use a command instead of a sentence")
    return text


def _shows_undefined(result: ScriptResult) -> bool:
    """Whether the value of an unknown name has become part of a text or a number."""
    if not result.unknown_names:
        return False
    return "undefined" in result.text if result.kind == "text" else result.text == "NaN"


def _asks_only_for_types(expression: Expression, result: ScriptResult) -> bool:
    """Whether the unknown names are only operands of typeof, which is "undefined" for them, and a text."""
    asked, rest = set(_TYPEOF.findall(expression.source)), _TYPEOF.sub("", expression.source)
    return asked.issuperset(result.unknown_names) and asked.isdisjoint(_WORD.findall(rest))


def _why_undefined(expression: Expression, result: ScriptResult, scope: VariableScope) -> str:
    source = expression.source
    name = next(iter(result.unknown_names), source)
    if name in _WHY_UNDEFINED:
        return f"{name} has no value: {_WHY_UNDEFINED[name]}"
    if not result.unknown_names and _WITHOUT_VALUE.match(source):
        return f"{quote(source)} has no value: end it with an expression, as in ${{const a = 1; a}}"
    if not result.unknown_names:
        return f"{quote(source)} is undefined: set it before, or give a default: {source} || 'default'"
    known = sorted({COPIED, *scope.variables})
    if name.startswith(_OF_SHELL):  # names that have only this in common are not similar
        alike = suggest(name.removeprefix(_OF_SHELL), [each.removeprefix(_OF_SHELL) for each in known])
        hint = (
            alike and suggest(name, known)
        ) or f": set it in the environment of mobiletest run, or by -e {name}=VALUE"
        return f"there is no variable {quote(name)}{hint}"
    hint = suggest(name, known) or (
        f"; known: {', '.join(known[:20])}. Set variables under env of the flow, the test or the start, "
        f"or by mobiletest run -e {name}=VALUE"
    )
    return f"there is no variable {quote(name)}{hint}"

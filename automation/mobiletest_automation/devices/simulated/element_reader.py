"""Reads the elements and events of app models."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from mobiletest_automation.devices.simulated.app_model import (
    ALWAYS,
    EMPTY,
    NEVER,
    AddToVariable,
    Crash,
    DoNothing,
    Effect,
    EventOutcome,
    EventOutcomes,
    Freeze,
    GoBack,
    GoToScreen,
    SetVariable,
    TextTemplate,
    Widget,
)
from mobiletest_automation.flows.expressions import ConditionExpression, parse_condition
from mobiletest_automation.flows.nodes import DocumentError, Node, quote, read_optional, suggest
from mobiletest_automation.flows.templates import ExpressionError
from mobiletest_automation.screen.elements import Role

# Types of elements.
TYPES = {
    "button": Role.BUTTON,
    "link": Role.LINK,
    "field": Role.FIELD,
    "password": Role.FIELD,
    "checkbox": Role.CHECKBOX,
    "switch": Role.SWITCH,
    "radio": Role.RADIO,
    "tab": Role.TAB,
    "row": Role.CELL,
    "picker": Role.PICKER,
    "image": Role.IMAGE,
    "heading": Role.HEADING,
    "text": Role.TEXT,
    "list": Role.LIST,
    "dialog": Role.DIALOG,
    "progress": Role.PROGRESS,
}

# Elements of an app, which are all rendered whenever a test looks at their screen.
ELEMENTS_LIMIT = 2_000

EVENTS = ("tap", "double_tap", "long_press", "enter", "swipe_left", "swipe_right")
EFFECTS = ("go", "back", "set", "add", "crash", "freeze", "nothing")

_CONTAINERS = frozenset({"row", "list", "dialog"})
_WIDGET_FIELDS = (
    *(
        "type",
        "text",
        "label",
        "hint",
        "id",
        "bind",
        "max_length",
        "loses",
        "enabled",
        "visible",
        "selected",
        "appears",
        "elements",
    ),
    *EVENTS,
)


@dataclass(frozen=True, slots=True)
class ElementReader:
    """Checks names against the variables and screens of the model, so that an error points to the wrong name.

    `settable` are the variables that an effect may change.
    """

    variables: frozenset[str]
    screens: tuple[str, ...]
    settable: frozenset[str]
    counts: Counter[str] = field(default_factory=Counter)

    def widgets(self, node: Node, path: str) -> tuple[Widget, ...]:
        self.counts["elements"] += len(node.items())
        if self.counts["elements"] > ELEMENTS_LIMIT:
            raise node.error(f"the app has more than {ELEMENTS_LIMIT} elements: leave out those that no test uses")
        return tuple(self._widget(item, f"{path}/{index}") for index, item in enumerate(node.items()))

    def _widget(self, node: Node, key: str) -> Widget:
        entries = node.fields(_WIDGET_FIELDS, required=("type",))
        kind = entries["type"].choice(TYPES)
        if "elements" in entries and kind not in _CONTAINERS:
            raise entries["elements"].error_at_key(
                f"a {kind} cannot hold elements; only {', '.join(sorted(_CONTAINERS))} can"
            )
        after, chance = self._appears(entries["appears"]) if "appears" in entries else (0.0, 1.0)
        return Widget(
            key=key,
            role=TYPES[kind],
            text=read_optional(entries, "text", self.template) or EMPTY,
            label=read_optional(entries, "label", self.template) or EMPTY,
            hint=read_optional(entries, "hint", Node.string) or "",
            id=read_optional(entries, "id", lambda node: node.string(limit=200)) or "",
            bind=read_optional(entries, "bind", lambda node: self._settable(node.string(), node.error)),
            secret=kind == "password",
            max_length=int(read_optional(entries, "max_length", lambda node: node.number(1, 20_000)) or 0),
            loses=read_optional(entries, "loses", lambda node: node.number(0, 1)) or 0.0,
            enabled=read_optional(entries, "enabled", self.condition) or ALWAYS,
            visible=read_optional(entries, "visible", self.condition) or ALWAYS,
            selected=read_optional(entries, "selected", self.condition) or NEVER,
            after=after,
            chance=chance,
            events={event: self.outcomes(entries[event]) for event in EVENTS if event in entries},
            widgets=self.widgets(entries["elements"], key) if "elements" in entries else (),
        )

    def _appears(self, node: Node) -> tuple[float, float]:
        entries = node.fields(("after", "chance"))
        after = read_optional(entries, "after", lambda node: node.seconds(0, 600)) or 0.0
        return after, _chance(entries)

    def outcomes(self, node: Node, *, only: Iterable[str] | None = None) -> EventOutcomes:
        """One outcome or a list of them; a plain name is a screen to go to."""
        if isinstance(node.value, tuple):
            return tuple(self.outcome(item, only=only) for item in node.value)
        return (self.outcome(node, only=only),)

    def outcome(self, node: Node, *, only: Iterable[str] | None = None, ignore: Iterable[str] = ()) -> EventOutcome:
        if isinstance(node.value, str):
            return EventOutcome((GoToScreen(self._screen(node)),))
        entries = node.fields((*(only or ("when", "chance", *EFFECTS)), *ignore))
        effects = [effect for name in EFFECTS if name in entries for effect in self._effects(name, entries[name])]
        if not effects:
            raise node.error(f"this outcome has no effect: give at least one of {', '.join(EFFECTS)}")
        when = read_optional(entries, "when", self.condition) or ALWAYS
        return EventOutcome(tuple(sorted(effects, key=_order)), when, _chance(entries))

    def _effects(self, name: str, node: Node) -> Iterable[Effect]:
        match name:
            case "go":
                return [GoToScreen(self._screen(node))]
            case "back":
                return [GoBack()] if node.boolean() else []
            case "set":
                return [
                    SetVariable(self._settable(key, value.error_at_key), self._value(value))
                    for key, value in node.mapping().items()
                ]
            case "add":
                return [
                    AddToVariable(self._settable(key, value.error_at_key), value.number(-1e9, 1e9))
                    for key, value in node.mapping().items()
                ]
            case "crash":
                return [Crash(node.string(limit=500))]
            case "freeze":
                return [Freeze(node.seconds(0, 3600))]
            case _:
                return [DoNothing(node.string(limit=500))]

    def condition(self, node: Node) -> ConditionExpression:
        try:
            condition = parse_condition(node.string())
        except ExpressionError as error:
            raise node.error(f"{error.message}, at character {error.position + 1} of {quote(node.raw)}") from error
        for name in condition.names:
            _check_variable(name, self.variables, node.error)
        return condition

    def template(self, node: Node) -> TextTemplate:
        template = TextTemplate(node.string(limit=2_000))
        for name in template.names:
            _check_variable(name, self.variables, node.error)
        return template

    def _value(self, node: Node) -> TextTemplate | str | int | float | bool:
        if isinstance(node.value, bool | int | float):
            return node.value
        return self.template(node)

    def _settable(self, name: str, error: Callable[[str], DocumentError]) -> str:
        _check_variable(name, self.settable, error)
        return name

    def _screen(self, node: Node) -> str:
        name = node.string()
        if name not in self.screens:
            raise node.error(f"{quote(name)} is not a screen{suggest(name, self.screens)}")
        return name


def _check_variable(name: str, known: frozenset[str], error: Callable[[str], DocumentError]) -> None:
    if name not in known:
        raise error(f"{quote(name)} is not a variable of state{suggest(name, known)}")


def _chance(entries: Mapping[str, Node]) -> float:
    chance = read_optional(entries, "chance", lambda node: node.number(0, 1))
    return 1.0 if chance is None else chance


def _order(effect: Effect) -> int:
    """Variables change before the screen does."""
    return 0 if isinstance(effect, SetVariable | AddToVariable) else 1

"""Other ways to write a step that is about a certain element, in the style of the old one, the shortest first."""

from collections.abc import Iterator

import yaml

from mobiletest_automation.flows.loader import Json
from mobiletest_automation.flows.selectors import CRITERIA
from mobiletest_automation.screen.elements import Role
from mobiletest_automation.screen.identity import ElementIdentity
from mobiletest_automation.sentences.grammar import parse_sentence
from mobiletest_automation.sentences.intents import ElementReference, Intent
from mobiletest_automation.sentences.targets import ROLES

# Longer names are texts that are likely to change again.
NAME_LIMIT = 80

# Commands whose selector has a name of its own; of others it is the argument itself.
_SELECTOR_FIELDS = {"scrollUntilVisible": "element", "swipe": "from"}
# Of a selector, what is about other elements or counts them.
_PLACES = (
    *("index", "below", "above", "leftOf", "rightOf", "childOf", "containsChild", "containsDescendants"),
    *("width", "height", "tolerance", "traits", "css"),
)
_KINDS = {Role.CELL: "row", Role.RADIO: "radio button"}


def name_of(identity: ElementIdentity) -> str:
    """The text that names the element; empty if nothing does, or if it could not be written into a step."""
    names = (identity.label, identity.hint) if identity.role is Role.FIELD else (identity.text, identity.label)
    name = next(filter(None, (*names, identity.hint)), "")
    fits = len(name) <= NAME_LIMIT and name.isprintable() and '"' not in name and "${" not in name
    return name.strip() if fits else ""


def reword(step: Json, old: ElementIdentity, new: ElementIdentity) -> Iterator[Json]:
    """Steps that name the element as it is now, with everything else that the step says."""
    if isinstance(step, str):
        yield from _reword_sentence(step, old, new)
    elif isinstance(step, dict) and len(step) == 1:
        ((command, arguments),) = step.items()
        field = _SELECTOR_FIELDS.get(command)
        if field is None:
            for selector in _reword_selector(arguments, new):
                yield {command: selector}
        elif isinstance(arguments, dict) and field in arguments:
            for selector in _reword_selector(arguments[field], new):
                yield {command: {**arguments, field: selector}}


def as_line(step: Json) -> str:
    """The step as a line of a flow."""
    if isinstance(step, dict) and len(step) == 1:
        ((command, arguments),) = step.items()
        return f"- {command}: {_in_flow_style(arguments)}"
    return f"- {_in_flow_style(step)}"


def _in_flow_style(value: Json) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=1_000_000)
    return text.strip().removesuffix("...").strip()


def _reword_sentence(sentence: str, old: ElementIdentity, new: ElementIdentity) -> Iterator[str]:
    meaning = parse_sentence(sentence)
    if not isinstance(meaning, Intent) or meaning.target is None:
        return
    written = meaning.target.phrase
    begins = [place for place in range(len(sentence)) if sentence.startswith(written, place)]
    for phrase in dict.fromkeys(_phrases(meaning.target, old, new)):
        for begin in begins:
            reworded = f"{sentence[:begin]}{phrase}{sentence[begin + len(written) :]}"
            if reworded != sentence and _says_the_same(meaning, parse_sentence(reworded)):
                yield reworded


def _says_the_same(one: Intent, other: object) -> bool:
    """Whether they differ only in the element."""
    return isinstance(other, Intent) and all(
        getattr(one, name) == getattr(other, name)
        for name in ("action", "value", "comparison", "seconds", "checked", "toggles", "replaces", "usable", "selects")
    )


def _phrases(target: ElementReference, old: ElementIdentity, new: ElementIdentity) -> Iterator[str]:
    name, by_id = name_of(new), f'the element with id "{new.id}"' if new.id else ""
    if by_id and (target.by_id or any(map(str.isdigit, name))):
        yield by_id
    if name:
        shown = (old.text, old.label, old.hint)
        for called in target.names or (target.related.this.names if target.related is not None else ()):
            if any(called.casefold() == text.casefold() for text in shown):
                yield target.phrase.replace(called, name)
        kind = _KINDS.get(new.role, new.role.value)
        if any(reading.roles for reading in target.readings) and kind in ROLES:
            yield f'the "{name}" {kind}'
        yield f'"{name}"'
    if by_id:
        yield by_id


def _reword_selector(selector: Json, new: ElementIdentity) -> Iterator[Json]:
    """With the criteria that the old one has, then with others."""
    name = name_of(new)
    if isinstance(selector, str):
        if name:
            yield name
        selector = {"text": selector}
    if not isinstance(selector, dict):
        return
    now = {key: value for key, value in (("text", name), ("id", new.id)) if value}
    replaced = {key: value for key, value in now.items() if key in selector}
    if set(replaced) == {"text", "id"} & set(selector):
        bare = {key: value for key, value in selector.items() if key not in _PLACES}
        yield from ({**each, **replaced} for each in (bare, selector))
    others = {key: value for key, value in selector.items() if key not in CRITERIA}
    for keys in (("id",), ("text",), ("text", "id")):
        if set(keys) <= set(now):
            yield {**{key: now[key] for key in keys}, **others}

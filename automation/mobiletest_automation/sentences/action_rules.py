"""Rules for actions: taps, switches, typing, the app, keys, links, screenshots."""

import re
from dataclasses import replace

from mobiletest_automation.sentences.intents import Action, Intent, NotUnderstood
from mobiletest_automation.sentences.normalizer import QUOTED, NormalizedSentence
from mobiletest_automation.sentences.rule import (
    SECONDS,
    Meaning,
    always,
    rule,
    seconds_of,
    unquote,
    with_target,
    with_target_group,
)
from mobiletest_automation.sentences.targets import may_say_more

# Not "On": with a capital it begins a name, such as "On sale".
_ON = r"(?:\s+(?-i:on(?:to)?|in(?:to)?|at))?"
_APP = r"(?:the\s+|my\s+|our\s+|this\s+)?(?:app|application)(?:\s+under\s+test)?"
_LAUNCH = r"(?:launch|open|start|run|restart|relaunch|reopen)(?:e?s)?(?:\s+up)?"
_STOP = r"(?:stop|close|kill|quit|exit|terminate|force[- ]?(?:stop|close|quit))(?:e?s)?"
_APP_ID = r"(?P<app>[A-Za-z]\w*(?:\.\w+){1,10})"
_WHICHEVER = (
    r"(?:(?:an?|the|any|another|some|every|all)\s|(?:other|new|same|right|wrong|correct|current|next|previous)\s+app)"
)
_APP_NAME = rf"(?:the\s+)?(?P<app>{QUOTED}|(?!{_WHICHEVER})\w[\w &-]*?)\s+(?:app|application)"
_PLACE = re.compile(r".*\b(?:screen|page|view|section|flow|dialog|website|site)", re.IGNORECASE)
# Rather a web site than an app id: app ids begin with the ending of a domain.
_SITE = re.compile(r"(?!(?:com|org|net|io|de|app)\.).+\.(?:com|org|net|io|dev|de|eu|uk)", re.IGNORECASE)

_LINK = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://)?\S+")

_KEYS = {"enter": "enter", "return": "enter", "backspace": "backspace", "escape": "escape", "esc": "escape"}
_KEYS |= {name: name for name in ("volume up", "volume down", "power")}
# Names that mean a key only if the sentence says "key" or "keyboard": buttons have them too.
_ONLY_AS_KEYS = _KEYS | {name: name for name in ("home", "tab", "delete", "space", "search")}


def _key(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    said = match["said"] is not None
    if match["button"] and not match["key"].lower().startswith(("volume", "power")):
        return None
    if not said and match["verb"].lower().startswith(("tap", "click")):
        return None
    key = (_ONLY_AS_KEYS if said else _KEYS).get(" ".join(match["key"].lower().split()))
    return Intent(action=Action.PRESS_KEY, value=key) if key else None


def _link(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    link = unquote(sentence, match["link"])
    if _LINK.fullmatch(link):
        return Intent(action=Action.OPEN_LINK, value=link)
    if match["said"]:
        return NotUnderstood(f'a link needs its scheme, such as "https://{link}"')
    return None


def _launch_named(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    if _SITE.fullmatch(match["app"]):
        return NotUnderstood(f'a link needs its scheme, such as "https://{match["app"]}"')
    return Intent(action=Action.LAUNCH_APP, value=unquote(sentence, match["app"]))


def _stop_named(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    return Intent(action=Action.STOP_APP, value=unquote(sentence, match["app"]))


def _screenshot(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    name = match["name"]
    return Intent(action=Action.SCREENSHOT, value=unquote(sentence, name) if name else None)


def _long_press(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    return with_target(sentence, match["target"], Intent(action=Action.LONG_PRESS, seconds=seconds_of(match)))


def _set_checked(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    on = match["verb"].lower() in {"check", "tick", "enable", "on"}
    return with_target(sentence, match["target"], Intent(action=Action.TAP, checked=on))


def _go_to(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    if _PLACE.fullmatch(match["target"]):
        return NotUnderstood("the sentence does not say how to get there: name the element to tap")
    return with_target(sentence, match["target"], Intent(action=Action.TAP, tappable_only=True))


_TAP = Intent(action=Action.TAP)
_SELECT = Intent(action=Action.TAP, checked=True, if_checkable=True)

# In this order: the more specific first.
ACTION_RULES = (
    rule(rf"{_LAUNCH}\s+{_APP}(?:\s+again)?", always(Intent(action=Action.LAUNCH_APP))),
    rule(rf"{_STOP}\s+{_APP}", always(Intent(action=Action.STOP_APP))),
    rule(rf"{_LAUNCH}\s+(?:{_APP}\s+)?{_APP_ID}", _launch_named),
    rule(rf"{_STOP}\s+(?:{_APP}\s+)?{_APP_ID}", _stop_named),
    rule(rf"{_LAUNCH}\s+{_APP_NAME}", _launch_named),
    rule(rf"{_STOP}\s+{_APP_NAME}", _stop_named),
    rule(rf"launch(?:es)?\s+(?P<app>{QUOTED})", _launch_named),
    rule(
        r"(?:(?:go|navigate|move)(?:e?s)?\s+back(?:\s+(?:one|to\s+the\s+previous)\s+(?:screen|page))?"
        r"|(?:press|hit|push|use)(?:e?s)?\s+(?:the\s+)?(?:(?:device|system|android|hardware|phone)(?:['’]s)?\s+)?back"
        r"(?:\s+(?:button|key))?"
        r"|return(?:s)?\s+to\s+the\s+previous\s+(?:screen|page))",
        always(Intent(action=Action.BACK)),
    ),
    rule(
        r"(?P<verb>press|hit|push|tap|click)(?:e?s)?\s+(?:on\s+)?(?:the\s+)?(?P<key>[a-z]+(?:\s+(?:up|down))?)(?P<button>\s+button)?"
        r"(?P<said>\s+key|\s+on\s+the\s+(?:soft\s+|on-screen\s+)?keyboard|\s+key\s+on\s+the\s+keyboard)?",
        _key,
    ),
    rule(
        r"(?:hide|dismiss|close|lower)(?:e?s)?\s+(?:the\s+)?(?:on-?screen\s+|soft\s+|virtual\s+)?keyboard",
        always(Intent(action=Action.HIDE_KEYBOARD)),
    ),
    rule(
        r"(?:(?:take|capture|make|grab|save)s?\s+)?(?:a\s+|the\s+)?screen\s?shot(?:\s+of\s+(?:the\s+)?(?:current\s+)?(?:screen|page))?"
        rf"(?:\s+(?:named|called|as)\s+(?P<name>{QUOTED}|[\w-]+))?",
        _screenshot,
    ),
    rule(
        r"(?:open|visit|follow|load|go\s+to|navigate\s+to|browse\s+to)(?:s)?\s+(?:the\s+)?"
        rf"(?P<said>(?:deep\s*)?link\s+|url\s+|(?:web\s*)?address\s+)?(?P<link>{QUOTED}|\S+)",
        _link,
    ),
    rule(
        rf"double[- ]?(?:tap|click|press)(?:e?s)?{_ON}\s+(?P<target>.+)",
        with_target_group(Intent(action=Action.DOUBLE_TAP)),
    ),
    rule(
        rf"(?:long[- ]?(?:press|tap|click|touch)(?:e?s)?|(?:press|tap|touch|click)(?:e?s)?\s+and\s+holds?(?:\s+down)?"
        rf"|holds?(?:\s+down)?){_ON}\s+(?P<target>.+?)(?:\s+for\s+{SECONDS})?",
        _long_press,
    ),
    rule(rf"(?:tap|click|press|touch|hit|push)(?:e?s)?{_ON}\s+(?P<target>.+)", with_target_group(_TAP)),
    rule(r"(?:turn|switch|toggle|flip)(?:e?s)?\s+(?P<verb>on|off)\s+(?P<target>.+)", _set_checked),
    rule(r"(?:turn|switch|toggle|flip|set)(?:e?s)?\s+(?P<target>.+?)\s+(?:to\s+)?(?P<verb>on|off)", _set_checked),
    rule(r"(?:toggle|flip)s?\s+(?P<target>.+)", with_target_group(replace(_TAP, toggles=True))),
    rule(
        r"(?P<verb>check(?!\s+(?:out|in)\b)|uncheck|tick|untick|deselect|enable|disable)s?\s+(?P<target>.+)",
        _set_checked,
    ),
    rule(r"(?:select|choose|pick)s?\s+(?P<target>.+)", with_target_group(_SELECT)),
    rule(r"(?:focus|focuses)(?:\s+on)?\s+(?P<target>.+)", with_target_group(_TAP)),
    rule(r"(?:open|go\s+to|goes\s+to|navigates?\s+to|switch(?:es)?\s+to|opens)\s+(?P<target>.+)", _go_to),
    rule(r"follows?\s+(?P<target>.+\s+link|(?:the\s+)?link\s+.+)", _go_to),
)


_TYPE = r"(?:type|enter|input|write|put|insert|key\s+in)(?:e?s)?(?:\s+in)?"
_INTO = r"(?:in(?:to|side)?|in\s+to|to|on|for|as|within)"
_A_TEXT = r"(?:(?:the|a)\s+)?(?:(?:text|value|string|word|words|phrase)\s+)?"
_HELD = r"(?:(?:the\s+)?(?:text|value|contents?)\s+(?:of|in)\s+)?"
# Words that describe a text: "type my password" must never type "my password".
_DESCRIBING = frozenset(
    re.findall(
        r"\S+",
        """
        my your the a an some any his her their its this that it them something anything nothing everything
        valid invalid correct wrong incorrect random new existing same following
        username password email e-mail name address text value credentials number code details information info phone
        date character characters letter letters word words keyword query
        """,
    )
)

_QUOTE_IT = NotUnderstood('quote the text to type, for example: Type "Ada" into "Name"')


def _type(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    written = match["value"]
    value = unquote(sentence, written)
    if value == written and _describes(written):
        return _QUOTE_IT
    return with_target(sentence, match["target"], Intent(action=Action.TYPE, value=value))


def _replace(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    """ "Set X to Y" names the new content of the field, whatever it contains now."""
    meaning = _type(sentence, match)
    return replace(meaning, replaces=True) if isinstance(meaning, Intent) else meaning


def _describes(written: str) -> bool:
    words = re.findall(r"[\w'’@.+-]+", written.lower())
    return may_say_more(written) or bool(_DESCRIBING.intersection(words)) or re.search(QUOTED, written) is not None


def _type_here(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    return Intent(action=Action.TYPE, value=unquote(sentence, match["value"]))


TEXT_RULES = (
    rule(
        rf"{_TYPE}\s+{_A_TEXT}(?P<value>{QUOTED})(?:\s+{_INTO}\s+(?:the\s+)?(?:focused|current|active)\s+(?:text\s+)?(?:field|input))?",
        _type_here,
    ),
    rule(rf"{_TYPE}\s+{_A_TEXT}(?P<value>{QUOTED})\s+{_INTO}\s+(?P<target>.+)", _type),
    rule(rf"{_TYPE}\s+(?P<value>.+?)\s+into\s+(?P<target>.+)", _type),
    rule(r"(?:type|enter|input|write|key\s+in)(?:e?s)?\s+(?P<value>\S+(?:\s+\S+)*)\s+in\s+(?P<target>.+)", _type),
    rule(r"(?:type|enter|input|use)(?:e?s)?\s+(?P<value>\S+)\s+as\s+(?P<target>.+)", _type),
    rule(rf"fills?(?:\s+(?:in|out|up))?\s+(?P<target>.+?)\s+with\s+{_A_TEXT}(?P<value>{QUOTED}|\S+)", _replace),
    rule(r"fills?(?:\s+(?:in|out|up))?\s+(?P<target>.+?)\s+with\s+(?P<value>\S+(?:\s+\S+)+)", _replace),
    rule(rf"fills?(?:\s+in)?\s+(?P<value>{QUOTED})\s+{_INTO}\s+(?P<target>.+)", _type),
    rule(rf"(?:set|change|update)s?\s+{_HELD}(?P<target>.+?)\s+to\s+{_A_TEXT}(?P<value>{QUOTED})", _replace),
    rule(rf"(?:set|change|update)s?\s+{_HELD}(?P<target>.+?)\s+to\s+(?P<value>[-+]?\d[\d\s.,:/()-]*)", _replace),
    rule(rf"replaces?\s+{_HELD}(?P<target>.+?)\s+(?:with|by)\s+{_A_TEXT}(?P<value>{QUOTED})", _replace),
    rule(rf"in(?:to)?\s+(?P<target>.+?)\s*,?\s+{_TYPE}\s+{_A_TEXT}(?P<value>{QUOTED})", _type),
    rule(rf"{_TYPE}\s+(?P<target>[^{QUOTED[1:-1]}]+?)\s*:?\s+(?P<value>{QUOTED})", _type),
    rule(
        r"(?:clear|empty|erase|delete)(?:e?s)?\s+(?:(?:the|all)\s+)*(?:text|input|field|contents?|text\s+field|focused\s+field)",
        always(Intent(action=Action.CLEAR)),
    ),
    rule(
        r"(?:clear|empty|erase|delete)(?:e?s)?\s+(?:out\s+)?(?:(?:the|all)\s+)*(?:text|contents?|value|input)\s+"
        r"(?:of|in|from|inside)\s+(?P<target>.+)",
        with_target_group(Intent(action=Action.CLEAR)),
    ),
    rule(r"(?:clear|empty|erase)(?:e?s)?\s+(?:out\s+)?(?P<target>.+)", with_target_group(Intent(action=Action.CLEAR))),
)

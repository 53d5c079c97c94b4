"""Rules for actions: taps and presses, switches, the app, keys, links, screenshots."""

import re
from dataclasses import replace

from services.executor.automation.sentences.intents import Action, Intent, NotUnderstood
from services.executor.automation.sentences.normalizer import QUOTED, NormalizedSentence
from services.executor.automation.sentences.rule import (
    SECONDS,
    Meaning,
    always,
    rule,
    seconds_of,
    unquote,
    with_target,
    with_target_group,
)

_ON = r"(?:\s+(?:on(?:to)?|in(?:to)?|at))?"
_APP = r"(?:the\s+|my\s+|our\s+|this\s+)?(?:app|application)(?:\s+under\s+test)?"
_LAUNCH = r"(?:launch|open|start|run|restart|relaunch|reopen)(?:e?s)?(?:\s+up)?"
_STOP = r"(?:stop|close|kill|quit|exit|terminate|force[- ]?(?:stop|close|quit))(?:e?s)?"
_APP_ID = r"(?P<app>[A-Za-z]\w*(?:\.\w+){1,10})"
_WHICHEVER = (
    r"(?:(?:an?|the|any|another|some|every|all)\s|(?:other|new|same|right|wrong|correct|current|next|previous)\s+app)"
)
_APP_NAME = rf"(?:the\s+)?(?P<app>{QUOTED}|(?!{_WHICHEVER})\w[\w &-]*?)\s+(?:app|application)"
_PLACE = re.compile(r".*\b(?:screen|page|view|section|flow|dialog|website|site)", re.IGNORECASE)
_SITE = re.compile(r"(?!(?:com|org|net|io|de|app)\.).+\.(?:com|org|net|io|dev|de|eu|uk)", re.IGNORECASE)
"""Rather a web site than an app id: app ids begin with the ending of a domain."""

_LINK = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://)?\S+")

_KEYS = {"enter": "enter", "return": "enter", "backspace": "backspace", "escape": "escape", "esc": "escape"}
_KEYS |= {name: name for name in ("volume up", "volume down", "power")}
_ONLY_AS_KEYS = _KEYS | {name: name for name in ("home", "tab", "delete", "space", "search")}
"""Names that mean a key only if the sentence says "key" or "keyboard": buttons have them too."""


def _key(worded: NormalizedSentence, found: re.Match[str]) -> Meaning:
    said = found["said"] is not None
    if found["button"] and not found["key"].lower().startswith(("volume", "power")):
        return None
    if not said and found["verb"].lower().startswith(("tap", "click")):
        return None
    key = (_ONLY_AS_KEYS if said else _KEYS).get(" ".join(found["key"].lower().split()))
    return Intent(action=Action.PRESS_KEY, value=key) if key else None


def _link(worded: NormalizedSentence, found: re.Match[str]) -> Meaning:
    link = unquote(worded, found["link"])
    if _LINK.fullmatch(link):
        return Intent(action=Action.OPEN_LINK, value=link)
    if found["said"]:
        return NotUnderstood(f'a link needs its scheme, such as "https://{link}"')
    return None


def _launch_named(worded: NormalizedSentence, found: re.Match[str]) -> Meaning:
    if _SITE.fullmatch(found["app"]):
        return NotUnderstood(f'a link needs its scheme, such as "https://{found["app"]}"')
    return Intent(action=Action.LAUNCH_APP, value=unquote(worded, found["app"]))


def _stop_named(worded: NormalizedSentence, found: re.Match[str]) -> Meaning:
    return Intent(action=Action.STOP_APP, value=unquote(worded, found["app"]))


def _screenshot(worded: NormalizedSentence, found: re.Match[str]) -> Meaning:
    name = found["name"]
    return Intent(action=Action.SCREENSHOT, value=unquote(worded, name) if name else None)


def _long_press(worded: NormalizedSentence, found: re.Match[str]) -> Meaning:
    return with_target(worded, found["target"], Intent(action=Action.LONG_PRESS, seconds=seconds_of(found)))


def _set_checked(worded: NormalizedSentence, found: re.Match[str]) -> Meaning:
    on = found["verb"].lower() in {"check", "tick", "enable", "on"}
    return with_target(worded, found["target"], Intent(action=Action.TAP, checked=on))


def _go_to(worded: NormalizedSentence, found: re.Match[str]) -> Meaning:
    if _PLACE.fullmatch(found["target"]):
        return NotUnderstood("the sentence does not say how to get there: name the element to tap")
    return with_target(worded, found["target"], Intent(action=Action.TAP, tappable_only=True))


_TAP = Intent(action=Action.TAP)
_SELECT = Intent(action=Action.TAP, checked=True, if_checkable=True)

RULES = (
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
    rule(r"(?:toggle|flip)s?\s+(?P<target>.+)", with_target_group(replace(_TAP, toggles=True))),
    rule(r"(?:turn|switch|toggle)(?:e?s)?\s+(?P<verb>on|off)\s+(?P<target>.+)", _set_checked),
    rule(r"(?:turn|switch|toggle)(?:e?s)?\s+(?P<target>.+)\s+(?P<verb>on|off)", _set_checked),
    rule(
        r"(?P<verb>check(?!\s+(?:out|in)\b)|uncheck|tick|untick|deselect|enable|disable)s?\s+(?P<target>.+)",
        _set_checked,
    ),
    rule(r"(?:select|choose|pick)s?\s+(?P<target>.+)", with_target_group(_SELECT)),
    rule(r"(?:focus|focuses)(?:\s+on)?\s+(?P<target>.+)", with_target_group(_TAP)),
    rule(r"(?:open|go\s+to|goes\s+to|navigates?\s+to|switch(?:es)?\s+to|opens)\s+(?P<target>.+)", _go_to),
    rule(r"follows?\s+(?P<target>.+\s+link|(?:the\s+)?link\s+.+)", _go_to),
)
"""In this order: the more specific first."""

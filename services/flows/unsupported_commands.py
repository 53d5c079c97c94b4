"""Commands of Maestro that are not supported, and what to use instead."""

from collections.abc import Collection, Mapping

from services.flows.nodes import quote, suggest

_NO_SCRIPTS = (
    "JavaScript does not run here. Set values under env, compute in ${...} (names, texts, numbers, operators), "
    "and check with assertTrue"
)
_NO_AI = "describe what must be visible in a sentence, or use assertVisible"
_NO_RANDOM = "use inputText with a fixed value or one from env"

UNSUPPORTED: Mapping[str, str] = {
    "evalScript": _NO_SCRIPTS,
    "runScript": _NO_SCRIPTS,
    "assertWithAI": _NO_AI,
    "assertNoDefectsWithAI": _NO_AI,
    "extractTextWithAI": "copyTextFrom copies the text of an element to ${maestro.copiedText}",
    "assertScreenshot": "assertVisible checks texts; takeScreenshot saves an image",
    "inputRandomEmail": _NO_RANDOM,
    "inputRandomNumber": _NO_RANDOM,
    "inputRandomPersonName": _NO_RANDOM,
    "inputRandomText": _NO_RANDOM,
    "inputRandomCityName": _NO_RANDOM,
    "inputRandomCountryName": _NO_RANDOM,
    "inputRandomColorName": _NO_RANDOM,
    "killApp": "use stopApp; a background app cannot be killed as the system would do it",
    "clearKeychain": "use clearState, which deletes what the app has stored",
    "setPermissions": "use permissions of launchApp",
    "setAirplaneMode": "the network of a device cannot be changed",
    "toggleAirplaneMode": "the network of a device cannot be changed",
    "addMedia": "files cannot be added to a device",
    "startRecording": "takeScreenshot saves an image; every failure has one anyway",
    "stopRecording": "takeScreenshot saves an image; every failure has one anyway",
    "travel": "use setLocation for each point",
    "action": "write the command itself: back, hideKeyboard, scroll",
    "dragAndDrop": "use swipe with start and end",
}
"""Unsupported commands by name, with what to use instead."""


def describe_unknown(name: str, known: Collection[str]) -> str:
    """The message for a command that is unsupported or unknown, with the most similar known one."""
    if name in UNSUPPORTED:
        return f"{name} is not supported: {UNSUPPORTED[name]}"
    if " " in name.strip():
        return f"unknown command {quote(name)}; put a sentence with a colon into quotes"
    return f"unknown command {quote(name)}{suggest(name, known) or '; known: ' + ', '.join(sorted(known))}"

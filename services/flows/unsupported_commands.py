"""What is said of a command that is not known, or known and not supported."""

from collections.abc import Collection, Mapping

from services.flows.nodes import quote, suggest

_NO_SCRIPTS = (
    "no JavaScript is run here. Give values under env, compute in ${...} (names, texts, numbers, operators), "
    "check with assertTrue"
)
_NO_AI = "say what is to be seen in a sentence, or with assertVisible"
_NO_RANDOM = "inputText with a value of your own, if need be from env"

UNSUPPORTED: Mapping[str, str] = {
    "evalScript": _NO_SCRIPTS,
    "runScript": _NO_SCRIPTS,
    "assertWithAI": _NO_AI,
    "assertNoDefectsWithAI": _NO_AI,
    "extractTextWithAI": "copyTextFrom gives what an element reads as ${maestro.copiedText}",
    "assertScreenshot": "assertVisible checks what can be read; takeScreenshot keeps a picture",
    "inputRandomEmail": _NO_RANDOM,
    "inputRandomNumber": _NO_RANDOM,
    "inputRandomPersonName": _NO_RANDOM,
    "inputRandomText": _NO_RANDOM,
    "inputRandomCityName": _NO_RANDOM,
    "inputRandomCountryName": _NO_RANDOM,
    "inputRandomColorName": _NO_RANDOM,
    "killApp": "stopApp ends an app; the system's own ending of an app behind others cannot be brought about",
    "clearKeychain": "clearState forgets what the app has kept",
    "setPermissions": "launchApp has permissions",
    "setAirplaneMode": "the network of a device stays as it is",
    "toggleAirplaneMode": "the network of a device stays as it is",
    "addMedia": "the files of a device stay as they are",
    "startRecording": "takeScreenshot keeps a picture; every failure has one",
    "stopRecording": "takeScreenshot keeps a picture; every failure has one",
    "travel": "setLocation sets one place after another",
    "action": "write the command itself: back, hideKeyboard, scroll",
    "dragAndDrop": "swipe has start and end",
}
"""Commands of Maestro that are not supported, and what to do instead."""


def describe_unknown(name: str, known: Collection[str]) -> str:
    """Why there is no such command, with the nearest one."""
    if name in UNSUPPORTED:
        return f"{name} is not supported: {UNSUPPORTED[name]}"
    if " " in name.strip():
        return f"unknown command {quote(name)}; a sentence with a colon must stand in quotes"
    return f"unknown command {quote(name)}{suggest(name, known) or '; known: ' + ', '.join(sorted(known))}"

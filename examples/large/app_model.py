"""The team's app as a model for the simulated device: one screen, on which each test has its own fate."""

from collections.abc import Collection
from dataclasses import dataclass

_ERROR = "Something went wrong (error 5031, request 8c1f-77): the server of transfers did not answer within 30 seconds"
_LONG_ERROR = " ".join(f"{_ERROR}; tried again, {number} of 12." for number in range(1, 13))
_CRASH = "java.lang.NullPointerException: Attempt to invoke virtual method on a null object at CardsFragment.kt:217"
_MODEL = """app_model: 1
app: {{id: com.example.bank, name: Bank, version: "{version}"}}
start: home
state: {{journey: "", heading: "", result: "", locale: en, amount: "", done: false, error: "", failing: "{failing}",
  verbose: "{verbose}", crashing: "{crashing}", unreliable: "{unreliable}", german: "{german}"}}
screens:
  home:
    elements:
      - {{type: heading, text: "{{heading}}"}}
      - {{type: field, id: amount, label: Amount, bind: amount}}
      - type: button
        id: continue
        text: Continue
        enabled: amount != ""
        tap:
          - {{when: crashing contains journey, crash: "{crash}"}}
          - {{when: failing contains journey, set: {{error: "{error}"}}}}
          - {{when: verbose contains journey, set: {{error: "{long_error}"}}}}
          - {{when: german contains journey and locale == "de", set: {{error: "Übersetzung fehlt: transfer.title"}}}}
          - {{set: {{done: true}}}}
      - {{type: text, id: result, text: "{{result}}", visible: done and not (unreliable contains journey)}}
      - {{type: text, id: late, text: "{{result}}", visible: done and unreliable contains journey,
         appears: {{chance: 0.65}}}}
      - {{type: text, id: error, text: "{{error}}", visible: error != ""}}
"""
# A comma is missing in its line 8: a run on it ends without a verdict, as artifact_invalid.
BROKEN_FILE = """app_model: 1
app: {id: com.example.bank, name: Bank, version: broken}
start: home
state: {amount: ""}
screens:
  home:
    elements:
      - {type: field, id: amount label: Amount, bind: amount}
"""
# Each step takes so long that runs on it keep their devices.
SLOW = """app_model: 1
app: {id: com.example.bank, name: Bank, version: slow}
pace: {step: 25s}
start: home
state: {journey: "", heading: "", result: "", locale: en, amount: ""}
screens:
  home:
    elements:
      - {type: heading, text: "{heading}"}
      - {type: field, id: amount, label: Amount, bind: amount}
      - {type: button, text: Continue}
      - {type: text, text: "{result}"}
"""
ASKING = """app_model: 1
app: {id: com.example.two, name: Two buttons, version: "1.0"}
state: {added: 0}
start: first
screens:
  first:
    elements:
      - {type: button, text: Add, tap: {add: {added: 1}}}
      - {type: button, text: Add, tap: {add: {added: 2}}}
      - {type: text, id: count, text: "Count {added}"}
"""


@dataclass(frozen=True, slots=True)
class Fates:
    """The keys of the tests that do not simply pass on a build; `german`: those that fail only with LOCALE=de."""

    failing: Collection[str] = ()
    verbose: Collection[str] = ()
    crashing: Collection[str] = ()
    unreliable: Collection[str] = ()
    german: Collection[str] = ()


def model_text(version: str, fates: Fates) -> str:
    """The file of a build."""
    keys = {name: " ".join(sorted(getattr(fates, name))) for name in Fates.__slots__}
    return _MODEL.format(version=version, crash=_CRASH, error=_ERROR, long_error=_LONG_ERROR, **keys)

"""The tests of the team: what a person does in the app, as names, tags and steps of tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Suites by their tags, with what is done in each.
SUITES = {
    "smoke": ("Sign in", "Sign out", "Show the balance", "Refresh the overview", "Open the menu"),
    "onboarding": ("Open an account", "Scan an identity card", "Choose a branch", "Accept the terms", "Skip the tour"),
    "transfers": (
        "Send money",
        "Refuse an invalid IBAN",
        "Repeat a transfer",
        "Schedule a transfer",
        "Add a recipient",
    ),
    "cards": ("Order a card", "Block a card", "Show the PIN", "Change the limit", "Travel abroad"),
    "savings": ("Create a goal", "Pay in", "Withdraw", "Close a goal", "Round up"),
    "settings": (
        "Change the language",
        "Dark mode",
        "Turn on notifications",
        "Change the address",
        "Delete the account",
    ),
    "security": ("Lock after five minutes", "Fingerprint", "Wrong password", "New device", "Forgotten password"),
    "support": ("Call the hotline", "Search the help", "Send feedback", "Chat", "Report a fraud"),
}
_CIRCUMSTANCES = ("as a new customer", "with two accounts", "without a network", "in landscape", "with a large font")
# Texts that a step waits for; the numbers in them are not what a failure is about.
_RESULTS = (
    "Transfer of 20.00 EUR to DE89 3704 0044 0532 0130 00 accepted",
    "IBAN DE89 3704 0044 is not valid",
    "Done, reference 4711-0815",
    "Saved at 09:41 for customer 1029384756",
    "Your card ends in 4242",
)
HOSTILE_NAME = "<script>document.title='owned'</script> '\"& \u202egnp.exe \u05d0\u05d1 " + "W" * 100
LONG_NAME = (
    "Send money from the second account of a customer who has just moved abroad to a recipient who was added a moment "
    "ago, and check that amount, fee, exchange rate and day of arrival agree"
)
# How many tests of the app come between two that read LOCALE.
_LOCALISED = 10


@dataclass(frozen=True, slots=True)
class Journey:
    """A test. `key` names it in the app model; `localised`: it reads the variable LOCALE."""

    key: str
    name: str
    suite: str
    result: str
    localised: bool

    @property
    def body(self) -> dict[str, Any]:
        """The test for the REST interface."""
        arguments = {"journey": self.key, "heading": self.suite.capitalize(), "result": self.result}
        if self.localised:
            arguments["locale"] = '${LOCALE || "en"}'
        steps = [
            {"launchApp": {"arguments": arguments}},
            {"assertVisible": self.suite.capitalize()},
            'Type "20" into "Amount"',
            'Tap "Continue"',
            f'I see "{self.result}"',
        ]
        tags = [self.suite] if self.suite == "smoke" else [self.suite, "regression"]
        return {"name": self.name, "tags": tags, "steps": steps, "description": f"{self.suite}: {self.name[:80]}"}


def journeys(number: int, *, first: int = 0) -> Sequence[Journey]:
    """So many tests, in turns of all suites; those of different `first` have different keys and names."""
    return [_journey(place) for place in range(first, first + number)]


def _journey(place: int) -> Journey:
    suite = list(SUITES)[place % len(SUITES)]
    deeds = SUITES[suite]
    turn = place // len(SUITES)
    round_, circumstance = turn // len(deeds), _CIRCUMSTANCES[turn // len(deeds) % len(_CIRCUMSTANCES)]
    name = deeds[turn % len(deeds)] + (f" {circumstance}" if round_ else "")
    name = {17: HOSTILE_NAME, 26: LONG_NAME}.get(place, name)
    return Journey(f"t{place:03}.", name, suite, _RESULTS[place % len(_RESULTS)], place % _LOCALISED == 0)

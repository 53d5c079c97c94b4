"""Random texts to type, drawn from a seed: a run that is repeated types the same."""

import string
from random import Random

from mobiletest_automation.flows.text_commands import InputRandom
from mobiletest_automation.scripting.fake_values import FakeValues


class RandomTexts:
    """The texts of one attempt. Equal seeds give equal texts in the same order."""

    def __init__(self, seed: str) -> None:
        self._fake_values = FakeValues(seed)
        self._random = Random(seed)  # noqa: S311 - texts for forms, not for secrets

    def draw(self, command: InputRandom) -> str:
        """A text of ASCII letters, a number that does not begin with 0, or a value as English forms expect it.

        Addresses are of example.com, example.net and example.org, so that no stranger gets mail.
        """
        match command.kind:
            case "text":
                return "".join(self._random.choices(string.ascii_lowercase, k=command.length))
            case "number":
                rest = self._random.choices(string.digits, k=command.length - 1)
                return "".join((self._random.choice("123456789"), *rest))
            case "email":
                return self._fake_values.faker.email()
            case "person name":
                return f"{self._fake_values.faker.first_name()} {self._fake_values.faker.last_name()}"
            case "city name":
                return self._fake_values.faker.city()
            case "country name":
                return self._fake_values.faker.country()
            case "color name":
                return self._fake_values.faker.color_name()

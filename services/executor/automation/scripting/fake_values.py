"""What `faker` of scripts gives: names, addresses, numbers. Equal seeds give equal values in the same order."""

import json
import string
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from faker import Faker

LENGTH_LIMIT = 1_000
Value: TypeAlias = str | int | bool


class NoSuchValue(Exception):
    """The message says what is wrong with the call."""


class FakeValues:
    """The values of one attempt, by the names that they have in Maestro's faker (Datafaker)."""

    def __init__(self, seed: str) -> None:
        self._seed = seed

    @cached_property
    def faker(self) -> "Faker":
        """English. Imported here because most attempts do without it: it takes 0.1 s and 17 MB."""
        from faker import Faker

        faker = Faker("en_US")
        faker.seed_instance(self._seed)
        return faker

    def draw(self, call: str) -> Value:
        """The value of a call as environment.js writes it: `["name.firstName", ...arguments]`. Raise NoSuchValue."""
        name, *arguments = json.loads(call)
        if name not in VALUES:
            known = ", ".join(sorted(VALUES))
            raise NoSuchValue(f"faker.{name.replace('.', '().')}() is not available here; known: {known}")
        least, most, draw = VALUES[name]
        if not least <= len(arguments) <= most or any(type(each) is not int for each in arguments):
            raise NoSuchValue(f"faker.{name.replace('.', '().')}() takes {_described(least, most)}")
        return draw(self.faker, arguments)


def _described(least: int, most: int) -> str:
    if most == 0:
        return "no arguments"
    return f"{least} to {most} whole numbers" if least < most else f"{most} whole number{'s' * (most > 1)}"


def _between(faker: "Faker", arguments: Sequence[int]) -> int:
    """From the first to below the second, as in Datafaker."""
    least, end = arguments
    return least if end <= least else faker.random.randrange(least, end)


def _digits(faker: "Faker", arguments: Sequence[int]) -> str:
    return "".join(faker.random.choices(string.digits, k=_length(arguments)))


def _letters(faker: "Faker", arguments: Sequence[int]) -> str:
    return "".join(faker.random.choices(string.ascii_lowercase + string.digits, k=_length(arguments)))


def _length(arguments: Sequence[int]) -> int:
    length = arguments[0] if arguments else 8
    if not 1 <= length <= LENGTH_LIMIT:
        raise NoSuchValue(f"a length is from 1 to {LENGTH_LIMIT}, not {length}")
    return length


def _plain(method: str) -> tuple[int, int, Callable[["Faker", Sequence[int]], Value]]:
    """A method of the library without arguments."""
    return 0, 0, lambda faker, _: getattr(faker, method)()


_FULL_NAME = (0, 0, lambda faker, _: f"{faker.first_name()} {faker.last_name()}")
_PHONE = (0, 0, lambda faker, _: faker.numerify("555-01##-####"))

VALUES: Mapping[str, tuple[int, int, Callable[["Faker", Sequence[int]], Value]]] = {
    "name.firstName": _plain("first_name"),
    "name.lastName": _plain("last_name"),
    "name.fullName": _FULL_NAME,
    "name.name": _FULL_NAME,
    "name.prefix": _plain("prefix"),
    "name.username": _plain("user_name"),
    "internet.emailAddress": _plain("safe_email"),
    "internet.safeEmailAddress": _plain("safe_email"),
    "internet.username": _plain("user_name"),
    "internet.password": (0, 0, lambda faker, _: faker.password(length=12, special_chars=False)),
    "internet.url": (0, 0, lambda faker, _: f"https://{faker.safe_domain_name()}/{faker.slug()}"),
    "internet.domainName": _plain("safe_domain_name"),
    "internet.uuid": _plain("uuid4"),
    "internet.ipV4Address": _plain("ipv4"),
    "phoneNumber.phoneNumber": _PHONE,
    "phoneNumber.cellPhone": _PHONE,
    "address.city": _plain("city"),
    "address.country": _plain("country"),
    "address.countryCode": _plain("country_code"),
    "address.state": _plain("state"),
    "address.streetAddress": _plain("street_address"),
    "address.streetName": _plain("street_name"),
    "address.zipCode": _plain("postcode"),
    "address.fullAddress": (0, 0, lambda faker, _: faker.address().replace("\n", ", ")),
    "number.digit": (0, 0, lambda faker, _: _digits(faker, [1])),
    "number.digits": (1, 1, _digits),
    "number.numberBetween": (2, 2, _between),
    "number.randomNumber": (0, 0, lambda faker, _: _between(faker, [1, 1_000_000])),
    "lorem.word": _plain("word"),
    "lorem.sentence": _plain("sentence"),
    "lorem.paragraph": _plain("paragraph"),
    "lorem.characters": (0, 1, _letters),
    "company.name": _plain("company"),
    "company.catchPhrase": _plain("catch_phrase"),
    "job.title": _plain("job"),
    "color.name": _plain("color_name"),
    "bool.bool": _plain("pybool"),
}
"""The least and the most arguments, and how the value is drawn."""

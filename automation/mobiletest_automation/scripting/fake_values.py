"""What `faker` of scripts gives: names, addresses, numbers. Equal seeds give equal values in the same order."""

import re
import string
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from mobiletest_automation.flows.texts import cut
from mobiletest_automation.outside_texts import parse_json
from mobiletest_automation.scripting.fake_words import WORDS
from mobiletest_automation.scripting.text_patterns import InvalidPattern, fitting_text, replace_signs

if TYPE_CHECKING:
    from datetime import date

    from faker import Faker

LENGTH_LIMIT = 1_000
EXPRESSIONS_LIMIT = 100
Value: TypeAlias = str | int | float | bool | list[str]
Arguments: TypeAlias = Sequence[object]

_EXPRESSION = re.compile(r"#\{\s*([A-Za-z][\w.]*)((?:\s*,?\s*'[^']*')*)\s*\}", re.ASCII)
_QUOTED = re.compile(r"'([^']*)'")
_WORDS = {
    "text": str,
    "whole number": int,
    "number": (int, float),
    "true or false": bool,
    "list": list,
    "value": object,
}


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
        """The value of a call as environment.js writes it: `["name.firstName", ...arguments]`.

        Raises:
            NoSuchValue: there is no such value.
        """
        name, *arguments = parse_json(call)
        return draw_value(self.faker, name, arguments)


def draw_value(faker: "Faker", name: str, arguments: Arguments) -> Value:
    shown = f"faker.{name.replace('.', '().')}()"
    if name in WORDS and not arguments:
        return cast("str", faker.random.choice(WORDS[name]))
    if name not in VALUES:
        raise NoSuchValue(f"{shown} is not available here; known: {_known_beside(name)}")
    value = VALUES[name]
    if not value.takes(arguments):
        raise NoSuchValue(f"{shown} takes {value.describe()}")
    try:
        return value.draw(faker, arguments)
    except InvalidPattern as error:
        raise NoSuchValue(f"{shown}: {error}") from None


def _known_beside(name: str) -> str:
    """The calls of the same kind, or else the kinds that there are."""
    known, kind = sorted({*VALUES, *WORDS}), name.partition(".")[0]
    beside = [each for each in known if each.startswith(f"{kind}.")]
    return ", ".join(beside or dict.fromkeys(each.partition(".")[0] for each in known))


class _Value(NamedTuple):
    """How a value is drawn; `kinds` are those of its arguments, of which the first `least` are needed.

    With `more` it takes any number of the last kind.
    """

    draw: Callable[["Faker", Arguments], Value]
    kinds: tuple[str, ...] = ()
    least: int = 0
    more: bool = False

    def takes(self, arguments: Arguments) -> bool:
        most = EXPRESSIONS_LIMIT if self.more else len(self.kinds)
        kinds = self.kinds + self.kinds[-1:] * (len(arguments) - len(self.kinds))
        return self.least <= len(arguments) <= most and all(map(_is_of, arguments, kinds))

    def describe(self) -> str:
        if not self.kinds:
            return "no arguments"
        needed, others = self.kinds[: self.least], self.kinds[self.least :]
        said = ", ".join((*needed, *(f"perhaps {kind}" for kind in others)))
        return f"{said}{' and more of these' if self.more else ''}"


def _is_of(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind in ("true or false", "value")
    return isinstance(value, cast("type", _WORDS[kind]))


def _ints(arguments: Arguments, *defaults: int) -> list[int]:
    """The whole numbers among the arguments, then the defaults of those that are missing."""
    given = [each for each in arguments if type(each) is int]
    return [*given, *defaults[len(given) :]]


def _between(faker: "Faker", arguments: Arguments) -> int:
    """From the first to below the second, as in Datafaker."""
    least, end = _ints(arguments)
    return least if end <= least else int(faker.random.randrange(least, end))


def _digits(faker: "Faker", arguments: Arguments) -> str:
    return "".join(faker.random.choices(string.digits, k=_length(arguments)))


def _letters(faker: "Faker", arguments: Arguments) -> str:
    """Of one length, or of one between two; with capitals if the last argument is true."""
    lengths = [_length([each]) for each in _ints(arguments, 8)]
    alphabet = string.ascii_lowercase + string.digits + (string.ascii_uppercase if True in arguments[1:] else "")
    return "".join(faker.random.choices(alphabet, k=faker.random.randint(lengths[0], max(lengths))))


def _length(arguments: Arguments, usual: int = 8) -> int:
    (length,) = _ints(arguments, usual)[:1]
    if not 1 <= length <= LENGTH_LIMIT:
        raise NoSuchValue(f"a length is from 1 to {LENGTH_LIMIT}, not {length}")
    return length


def _random_number(faker: "Faker", arguments: Arguments) -> int:
    """With the number of digits, exactly so many if the second argument is true."""
    if not arguments:
        return int(faker.random.randrange(1, 1_000_000))
    digits = min(_length(arguments), 15)
    least = 10 ** (digits - 1) if len(arguments) == 1 or arguments[1] else 0
    return int(faker.random.randrange(least, 10**digits))


def _random_double(faker: "Faker", arguments: Arguments) -> float:
    decimals, least, most = _ints(arguments)
    return float(round(faker.random.uniform(least, most), max(0, min(decimals, 15))))


def _words(faker: "Faker", arguments: Arguments, method: str) -> list[str]:
    return cast("list[str]", getattr(faker, method)(nb=_length(arguments, 3)))


def _sentence(faker: "Faker", arguments: Arguments) -> str:
    words, more = (_length(arguments, 4), (*_ints(arguments), 4, 6)[1]) if arguments else (4, 6)
    return str(faker.sentence(nb_words=words + faker.random.randint(0, max(0, min(more, 20))), variable_nb_words=False))


def _paragraph(faker: "Faker", arguments: Arguments) -> str:
    return " ".join(_sentence(faker, ()) for _ in range(_length(arguments, 3)))


def _signs(faker: "Faker", arguments: Arguments, *, digits: bool, letters: bool) -> str:
    """`#` is a digit and `?` a letter, a capital one if the second argument is true."""
    template = _template(arguments)
    alphabet = string.ascii_uppercase if len(arguments) > 1 and arguments[1] is True else string.ascii_lowercase
    signs = {"#": string.digits} if digits else {}
    return replace_signs(template, faker.random, {**signs, "?": alphabet} if letters else signs)


def _template(arguments: Arguments) -> str:
    template = str(arguments[0])
    if len(template) > LENGTH_LIMIT:
        raise InvalidPattern(f"a pattern has at most {LENGTH_LIMIT} characters")
    return template


def _examplify(faker: "Faker", arguments: Arguments) -> str:
    """Another letter for each letter, and another digit for each digit."""
    kinds = (string.ascii_uppercase, string.ascii_lowercase, string.digits)
    signs = {sign: kind for kind in kinds for sign in kind}
    return replace_signs(_template(arguments), faker.random, signs)


def _expression(faker: "Faker", arguments: Arguments) -> str:
    """A text with calls in it: "#{name.lastName} #{numerify '##'}"."""
    template = _template(arguments)
    if len(_EXPRESSION.findall(template)) > EXPRESSIONS_LIMIT:
        raise InvalidPattern(f"an expression has at most {EXPRESSIONS_LIMIT} calls")
    text = _EXPRESSION.sub(lambda match: _called(faker, match), template)
    if "#{" in text:
        raise InvalidPattern("write calls as #{name.lastName} or #{numerify '##'}")
    return text


def _called(faker: "Faker", match: re.Match[str]) -> str:
    """A name may also be written as Name.first_name; its arguments are texts."""
    first, *rest = (re.sub(r"_([a-z])", lambda each: each[1].upper(), part) for part in match[1].split("."))
    name = ".".join((first[:1].lower() + first[1:], *rest))
    if name == "expression":
        raise InvalidPattern("expressions cannot be nested")
    value = draw_value(faker, name, [_read(text, name) for text in _QUOTED.findall(match[2])])
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(text: str, name: str) -> object:
    if name in _OF_TEXTS:
        return {"true": True, "false": False}.get(text, text) if name != "options.option" else text
    if re.fullmatch(r"-?\d{1,15}", text, re.ASCII):
        return int(text)
    return {"true": True, "false": False}.get(text, text)


_OF_TEXTS = frozenset(("bothify", "numerify", "letterify", "regexify", "examplify", "templatify", "options.option"))


def _birthday(faker: "Faker", arguments: Arguments) -> str:
    """Of a person of these ages, in a format of Java."""
    youngest, oldest = _ints(arguments, 18, 65)
    if not 0 <= youngest <= oldest <= 150:
        raise NoSuchValue("the ages of a birthday are from 0 to 150, the lower one first")
    born = faker.date_of_birth(minimum_age=youngest, maximum_age=oldest)
    formats = [str(each) for each in arguments if isinstance(each, str)]
    return format_date(born, formats[0] if formats else "yyyy-MM-dd")


_DATE_PARTS: Mapping[str, str] = {
    **{"yyyy": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "dd": "%d"},
    **{"EEEE": "%A", "EEE": "%a", "HH": "00", "mm": "00", "ss": "00"},
}


def format_date(day: "date", pattern: str) -> str:
    """As Java's SimpleDateFormat writes it.

    Raises:
        InvalidPattern: for what is not of a day.
    """

    def write(match: re.Match[str]) -> str:
        part = match[0]
        if part.startswith("'"):
            return part[1:-1] or "'"
        if part in ("d", "M"):
            return str(day.day if part == "d" else day.month)
        if part not in _DATE_PARTS:
            raise InvalidPattern(f'"{part}" is not supported in a date; known: d, M, {", ".join(_DATE_PARTS)}')
        return day.strftime(_DATE_PARTS[part])

    return re.sub(r"'[^']*'|([A-Za-z])\1*", write, cut(pattern, LENGTH_LIMIT))


def _price(faker: "Faker", arguments: Arguments) -> str:
    least, most = (float(cast("float", each)) for each in (*arguments, 0, 100)[:2]) if arguments else (0.0, 100.0)
    return f"{faker.random.uniform(least, max(least, most)):.2f}"


def _product(faker: "Faker", _: Arguments) -> str:
    kind, thing = (
        ("Compact", "Durable", "Elegant", "Handy", "Light", "Small", "Sturdy"),
        ("Bag", "Bench", "Bottle", "Lamp"),
    )
    words = (kind, WORDS["commerce.material"], thing)
    return " ".join(faker.random.choice(each) for each in words)


def _password(faker: "Faker", arguments: Arguments) -> str:
    """Of these lengths, with capitals, special signs and digits where the last arguments are true."""
    if not arguments:
        return str(faker.password(length=12, special_chars=False))
    least, most = _ints(arguments)
    flags = [each for each in arguments if isinstance(each, bool)] + [False, False, False]
    length = _length([faker.random.randint(least, max(least, most))])
    sets = [string.ascii_lowercase, string.digits if flags[2] or len(arguments) < 5 else ""]
    sets += [string.ascii_uppercase if flags[0] else "", "!@#$%^&*" if flags[1] else ""]
    used = [each for each in sets if each]
    signs = [*map(faker.random.choice, used), *faker.random.choices("".join(used), k=LENGTH_LIMIT)][:length]
    faker.random.shuffle(signs)
    return "".join(signs)


def _email(faker: "Faker", arguments: Arguments) -> str:
    address = str(faker.safe_email())
    return address if not arguments else f"{arguments[0]}@{address.partition('@')[2]}"


def _card(faker: "Faker", _: Arguments) -> str:
    """With a valid check digit, in groups of four."""
    number = faker.credit_card_number(card_type="visa16")
    return "-".join(number[start : start + 4] for start in range(0, 16, 4))


def _isbn(faker: "Faker", arguments: Arguments, digits: int) -> str:
    number = str(getattr(faker, f"isbn{digits}")())
    return number if arguments and arguments[0] else number.replace("-", "")


def _with_check_digit(faker: "Faker", _: Arguments) -> str:
    """Fifteen digits, the last of which is that of Luhn's formula."""
    return str(faker.credit_card_number(card_type="amex"))


def _plain(method: str, **arguments: object) -> _Value:
    """A method of the library."""
    return _Value(lambda faker, _: getattr(faker, method)(**arguments))


def _pattern(pattern: str) -> _Value:
    return _Value(lambda faker, _: fitting_text(pattern, faker.random))


_FULL_NAME = _Value(lambda faker, _: f"{faker.first_name()} {faker.last_name()}")
_PHONE = _Value(lambda faker, _: faker.numerify("555-01##-####"))
_OPTION = _Value(lambda faker, arguments: cast("Value", faker.random.choice(arguments)), ("value",), 1, more=True)
_CITY_OF_COUNTRY = _plain("country")

# By their names; those of WORDS are drawn from lists.
VALUES: Mapping[str, _Value] = {
    "bothify": _Value(partial(_signs, digits=True, letters=True), ("text", "true or false"), 1),
    "numerify": _Value(partial(_signs, digits=True, letters=False), ("text",), 1),
    "letterify": _Value(partial(_signs, digits=False, letters=True), ("text", "true or false"), 1),
    "regexify": _Value(lambda faker, arguments: fitting_text(str(arguments[0]), faker.random), ("text",), 1),
    "examplify": _Value(_examplify, ("text",), 1),
    "templatify": _Value(
        lambda faker, arguments: replace_signs(
            _template(arguments), faker.random, {str(arguments[1])[:1]: "".join(map(str, arguments[2:]))}
        ),
        ("text",),
        3,
        more=True,
    ),
    "expression": _Value(_expression, ("text",), 1),
    "options.option": _OPTION,
    "options.nextElement": _Value(lambda faker, arguments: faker.random.choice(arguments[0] or [""]), ("list",), 1),
    "name.firstName": _plain("first_name"),
    "name.femaleFirstName": _plain("first_name_female"),
    "name.maleFirstName": _plain("first_name_male"),
    "name.lastName": _plain("last_name"),
    "name.fullName": _FULL_NAME,
    "name.name": _FULL_NAME,
    "name.nameWithMiddle": _Value(lambda faker, _: f"{faker.first_name()} {faker.first_name()} {faker.last_name()}"),
    "name.prefix": _plain("prefix"),
    "name.title": _plain("job"),
    "name.username": _plain("user_name"),
    "internet.emailAddress": _Value(_email, ("text",)),
    "internet.safeEmailAddress": _Value(_email, ("text",)),
    "internet.username": _plain("user_name"),
    "internet.password": _Value(_password, ("whole number", "whole number", *["true or false"] * 3)),
    "internet.url": _Value(lambda faker, _: f"https://{faker.safe_domain_name()}/{faker.slug()}"),
    "internet.domainName": _plain("safe_domain_name"),
    "internet.domainSuffix": _plain("tld"),
    "internet.domainWord": _plain("domain_word"),
    "internet.slug": _plain("slug"),
    "internet.uuid": _plain("uuid4"),
    "internet.ipV4Address": _plain("ipv4"),
    "internet.publicIpV4Address": _plain("ipv4_public"),
    "internet.privateIpV4Address": _plain("ipv4_private"),
    "internet.ipV6Address": _plain("ipv6"),
    "internet.macAddress": _plain("mac_address"),
    "internet.userAgent": _plain("user_agent"),
    "internet.port": _Value(lambda faker, _: faker.random.randrange(1, 65_536)),
    "phoneNumber.phoneNumber": _PHONE,
    "phoneNumber.cellPhone": _PHONE,
    "phoneNumber.phoneNumberInternational": _Value(lambda faker, _: faker.numerify("+1 555-01##-####")),
    "phoneNumber.extension": _pattern(r"\d{4}"),
    "phoneNumber.subscriberNumber": _Value(_digits, ("whole number",)),
    "address.city": _plain("city"),
    "address.cityName": _plain("city"),
    "address.country": _CITY_OF_COUNTRY,
    "address.countryCode": _plain("country_code"),
    "address.state": _plain("state"),
    "address.stateAbbr": _plain("state_abbr"),
    "address.streetAddress": _Value(lambda faker, _: faker.street_address(), ("true or false",)),
    "address.streetAddressNumber": _plain("building_number"),
    "address.buildingNumber": _plain("building_number"),
    "address.secondaryAddress": _plain("secondary_address"),
    "address.streetName": _plain("street_name"),
    "address.zipCode": _plain("postcode"),
    "address.postcode": _plain("postcode"),
    "address.latitude": _Value(lambda faker, _: f"{faker.random.uniform(-90, 90):.8f}"),
    "address.longitude": _Value(lambda faker, _: f"{faker.random.uniform(-180, 180):.8f}"),
    "address.timeZone": _plain("timezone"),
    "address.fullAddress": _Value(lambda faker, _: faker.address().replace("\n", ", ")),
    "number.digit": _Value(lambda faker, _: _digits(faker, [1])),
    "number.digits": _Value(_digits, ("whole number",), 1),
    "number.numberBetween": _Value(_between, ("whole number", "whole number"), 2),
    "number.randomNumber": _Value(_random_number, ("whole number", "true or false")),
    "number.randomDigit": _Value(lambda faker, _: faker.random.randrange(10)),
    "number.randomDigitNotZero": _Value(lambda faker, _: faker.random.randrange(1, 10)),
    "number.randomDouble": _Value(_random_double, ("whole number",) * 3, 3),
    "number.positive": _Value(lambda faker, _: faker.random.randrange(1, 2**31)),
    "number.negative": _Value(lambda faker, _: -faker.random.randrange(1, 2**31)),
    "date.birthday": _Value(_birthday, ("value", "value", "text")),
    "timeAndDate.birthday": _Value(_birthday, ("value", "value", "text")),
    "lorem.word": _plain("word"),
    "lorem.words": _Value(partial(_words, method="words"), ("whole number",)),
    "lorem.sentence": _Value(_sentence, ("whole number", "whole number")),
    "lorem.sentences": _Value(partial(_words, method="sentences"), ("whole number",)),
    "lorem.paragraph": _Value(_paragraph, ("whole number",)),
    "lorem.paragraphs": _Value(partial(_words, method="paragraphs"), ("whole number",)),
    "lorem.character": _Value(lambda faker, _: _letters(faker, [1])),
    "lorem.characters": _Value(_letters, ("whole number", "value", "true or false")),
    "lorem.fixedString": _Value(_letters, ("whole number",), 1),
    "company.name": _plain("company"),
    "company.catchPhrase": _plain("catch_phrase"),
    "company.bs": _plain("bs"),
    "company.url": _plain("safe_domain_name"),
    "commerce.productName": _Value(_product),
    "commerce.price": _Value(_price, ("number", "number")),
    "commerce.promotionCode": _pattern(r"(Good|Great|Summer|Winter)(Code|Deal|Price)\d{6}"),
    "finance.creditCard": _Value(_card),
    "business.creditCardNumber": _Value(_card),
    "business.creditCardExpiry": _pattern(r"20(4\d)-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])"),
    "avatar.image": _pattern(r"https://example\.com/avatars/[a-z]{8}\.png"),
    "internet.image": _pattern(r"https://example\.com/pictures/[a-z]{8}\.png"),
    "finance.iban": _plain("iban"),
    "finance.bic": _plain("swift"),
    "code.isbn10": _Value(partial(_isbn, digits=10), ("true or false",)),
    "code.isbn13": _Value(partial(_isbn, digits=13), ("true or false",)),
    "code.ean8": _plain("ean8"),
    "code.ean13": _plain("ean13"),
    "code.gtin8": _plain("ean8"),
    "code.gtin13": _plain("ean13"),
    "code.asin": _pattern(r"B000[A-Z0-9]{6}"),
    "code.imei": _Value(_with_check_digit),
    "barcode.ean8": _plain("ean8"),
    "barcode.ean13": _plain("ean13"),
    "job.title": _plain("job"),
    "color.name": _plain("color_name"),
    "bool.bool": _plain("pybool"),
    "book.author": _FULL_NAME,
    "app.author": _FULL_NAME,
    "app.version": _pattern(r"\d\.\d(\.\d)?"),
    "country.name": _CITY_OF_COUNTRY,
    "country.countryCode2": _Value(lambda faker, _: faker.country_code().lower()),
    "country.countryCode3": _Value(lambda faker, _: faker.country_code(representation="alpha-3").lower()),
    "country.currencyCode": _plain("currency_code"),
    "currency.code": _plain("currency_code"),
    "currency.name": _plain("currency_name"),
    "money.currency": _plain("currency_name"),
    "money.currencyCode": _plain("currency_code"),
    "nation.language": _plain("language_name"),
    "idNumber.valid": _plain("ssn"),
    "idNumber.ssnValid": _plain("ssn"),
    "passport.valid": _pattern(r"[A-Z]\d{8}"),
    "hashing.md5": _plain("md5"),
    "hashing.sha1": _plain("sha1"),
    "hashing.sha256": _plain("sha256"),
    "file.fileName": _plain("file_name"),
    "file.extension": _plain("file_extension"),
    "file.mimeType": _plain("mime_type"),
    "emoji.smiley": _plain("emoji"),
    "team.name": _Value(lambda faker, _: f"{faker.state()} {faker.random.choice(WORDS['team.creature'])}"),
    "vehicle.licensePlate": _plain("license_plate"),
    "vehicle.vin": _plain("vin"),
    "weather.temperatureCelsius": _Value(lambda faker, _: f"{faker.random.randrange(-20, 40)}°C"),
    "stock.nsdqSymbol": _pattern(r"[A-Z]{4}"),
}

"""The messages and types of errors: those that pydantic gives, because clients know them."""

from collections.abc import Iterable, Sequence

from services.gateway.decoding.issues import Refusal

MISSING = Refusal("missing", "Field required")
STRING = Refusal("string_type", "Input should be a valid string")
NOT_UNICODE = Refusal("string_unicode", "Input should be a valid string, unable to parse raw data as a unicode string")
INTEGER = Refusal("int_type", "Input should be a valid integer")
INTEGER_TEXT = Refusal("int_parsing", "Input should be a valid integer, unable to parse string as an integer")
NUMBER = Refusal("float_type", "Input should be a valid number")
NUMBER_TEXT = Refusal("float_parsing", "Input should be a valid number, unable to parse string as a number")
BOOLEAN = Refusal("bool_type", "Input should be a valid boolean")
BOOLEAN_TEXT = Refusal("bool_parsing", "Input should be a valid boolean, unable to interpret input")
LIST = Refusal("list_type", "Input should be a valid list")
OBJECT = Refusal("dict_type", "Input should be a valid dictionary")
MODEL = Refusal("model_attributes_type", "Input should be a valid dictionary or object to extract fields from")
UUID = Refusal("uuid_parsing", "Input should be a valid UUID")
MOMENT = Refusal("datetime_parsing", "Input should be a valid datetime in the form 2026-01-31T12:00:00Z")
NO_ZONE = Refusal("timezone_aware", "Input should have timezone info")
TOO_DEEP = Refusal("too_deep", "Input is nested too deeply")
NUL_IN_KEY = Refusal("string_pattern_mismatch", "Keys should not contain the character NUL")
NOT_UNIQUE = Refusal("unique_items", "List should have unique items")


def one_of(choices: Sequence[str]) -> Refusal:
    """'a', 'b' or 'c'."""
    quoted = [f"'{choice}'" for choice in choices]
    text = " or ".join(part for part in (", ".join(quoted[:-1]), quoted[-1]) if part)
    return Refusal("enum", f"Input should be {text}")


def at_least(bound: float) -> Refusal:
    return Refusal("greater_than_equal", f"Input should be greater than or equal to {bound}")


def at_most(bound: float) -> Refusal:
    return Refusal("less_than_equal", f"Input should be less than or equal to {bound}")


def above(bound: float) -> Refusal:
    return Refusal("greater_than", f"Input should be greater than {bound}")


def below(bound: float) -> Refusal:
    return Refusal("less_than", f"Input should be less than {bound}")


def too_short(least: int) -> Refusal:
    return Refusal("string_too_short", f"String should have at least {_count(least, 'character')}")


def too_long(most: int) -> Refusal:
    return Refusal("string_too_long", f"String should have at most {_count(most, 'character')}")


def too_few(least: int, given: int) -> Refusal:
    return Refusal("too_short", f"List should have at least {_count(least, 'item')} after validation, not {given}")


def too_many(most: int, given: int) -> Refusal:
    return Refusal("too_long", f"List should have at most {_count(most, 'item')} after validation, not {given}")


def unknown_field(nearest: Iterable[str]) -> Refusal:
    """For `Prefer: handling=strict`."""
    hint = "; did you mean " + " or ".join(f"'{name}'" for name in nearest) + "?" if nearest else ""
    return Refusal("extra_forbidden", f"Extra inputs are not permitted{hint}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")

"""What is wrong with a request, and what in it was ignored."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

MOST_ISSUES = 100
MOST_IGNORED = 100

Location = tuple[str | int, ...]
"""Where: ("query", "page_size"), ("body", "test_ids", 2)."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One error of a request, in the words that FastAPI's clients know."""

    loc: Location
    msg: str
    type: str

    def as_json(self) -> dict[str, object]:
        return {"loc": list(self.loc), "msg": self.msg, "type": self.type}


class InvalidRequest(Exception):
    """The request breaks its contract; 422 with all issues."""

    def __init__(self, field_errors: Iterable[FieldError]) -> None:
        super().__init__("the request is not valid")
        self.field_errors = tuple(field_errors)


class MalformedBody(Exception):
    """The body is not JSON; 400 with a sentence that says where."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why one value is not what its field takes."""

    type: str
    message: str

    def at(self, loc: Location) -> FieldError:
        return FieldError(loc, self.message, self.type)


class Refused(Exception):
    """Carries a refusal from the reader of a value to the one who knows its place."""

    def __init__(self, refusal: Problem) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class IgnoredField:
    """A field, parameter or header that the contract does not have, and the names that stand there."""

    loc: Location
    known: tuple[str, ...]

    @property
    def path(self) -> str:
        """Without its place: "run_config.retriess", "steps[2].x"."""
        head, *rest = self.loc[1:]
        return str(head) + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest)


@dataclass(slots=True)
class Findings:
    """Collects what turns up while a request is decoded; bounded, however bad the request is."""

    field_errors: list[FieldError] = field(default_factory=list)
    ignored: list[IgnoredField] = field(default_factory=list)

    def refuse(self, loc: Location, refusal: Problem) -> None:
        if len(self.field_errors) < MOST_ISSUES:
            self.field_errors.append(refusal.at(loc))

    def ignore(self, loc: Location, known: Iterable[str]) -> None:
        if len(self.ignored) < MOST_IGNORED:
            self.ignored.append(IgnoredField(loc, tuple(known)))


MISSING = Problem("missing", "Field required")
STRING = Problem("string_type", "Input should be a valid string")
NOT_UNICODE = Problem("string_unicode", "Input should be a valid string, unable to parse raw data as a unicode string")
INTEGER = Problem("int_type", "Input should be a valid integer")
INTEGER_TEXT = Problem("int_parsing", "Input should be a valid integer, unable to parse string as an integer")
NUMBER = Problem("float_type", "Input should be a valid number")
NUMBER_TEXT = Problem("float_parsing", "Input should be a valid number, unable to parse string as a number")
BOOLEAN = Problem("bool_type", "Input should be a valid boolean")
BOOLEAN_TEXT = Problem("bool_parsing", "Input should be a valid boolean, unable to interpret input")
LIST = Problem("list_type", "Input should be a valid list")
OBJECT = Problem("dict_type", "Input should be a valid dictionary")
MODEL = Problem("model_attributes_type", "Input should be a valid dictionary or object to extract fields from")
UUID = Problem("uuid_parsing", "Input should be a valid UUID")
MOMENT = Problem("datetime_parsing", "Input should be a valid datetime in the form 2026-01-31T12:00:00Z")
NO_ZONE = Problem("timezone_aware", "Input should have timezone info")
TOO_DEEP = Problem("too_deep", "Input is nested too deeply")
NUL_IN_KEY = Problem("string_pattern_mismatch", "Keys should not contain the character NUL")
NOT_UNIQUE = Problem("unique_items", "List should have unique items")


def one_of(choices: Sequence[str]) -> Problem:
    """'a', 'b' or 'c'."""
    quoted = [f"'{choice}'" for choice in choices]
    text = " or ".join(part for part in (", ".join(quoted[:-1]), quoted[-1]) if part)
    return Problem("enum", f"Input should be {text}")


def at_least(bound: float) -> Problem:
    return Problem("greater_than_equal", f"Input should be greater than or equal to {bound}")


def at_most(bound: float) -> Problem:
    return Problem("less_than_equal", f"Input should be less than or equal to {bound}")


def above(bound: float) -> Problem:
    return Problem("greater_than", f"Input should be greater than {bound}")


def below(bound: float) -> Problem:
    return Problem("less_than", f"Input should be less than {bound}")


def too_short(least: int) -> Problem:
    return Problem("string_too_short", f"String should have at least {_count(least, 'character')}")


def too_long(most: int) -> Problem:
    return Problem("string_too_long", f"String should have at most {_count(most, 'character')}")


def too_few(least: int, given: int) -> Problem:
    return Problem("too_short", f"List should have at least {_count(least, 'item')} after validation, not {given}")


def too_many(most: int, given: int) -> Problem:
    return Problem("too_long", f"List should have at most {_count(most, 'item')} after validation, not {given}")


def unknown_field(nearest: Iterable[str]) -> Problem:
    """For `Prefer: handling=strict`."""
    hint = "; did you mean " + " or ".join(f"'{name}'" for name in nearest) + "?" if nearest else ""
    return Problem("extra_forbidden", f"Extra inputs are not permitted{hint}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")

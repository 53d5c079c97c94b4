"""What is wrong with a request, as clients see it: the messages and types are those of pydantic."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import PydanticKnownError

MAX_ERRORS = 100

Location = tuple[str | int, ...]
"""Where: ("query", "page_size"), ("body", "test_ids", 2)."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One error of a request, in the form that clients of FastAPI know."""

    loc: Location
    msg: str
    type: str

    def as_json(self) -> dict[str, object]:
        return {"loc": list(self.loc), "msg": self.msg, "type": self.type}


class InvalidRequest(Exception):
    """The request breaks its contract; 422 with all errors."""

    def __init__(self, field_errors: Iterable[FieldError]) -> None:
        super().__init__("the request is not valid")
        self.field_errors = tuple(field_errors)


class MalformedBody(Exception):
    """The body is not JSON; 400 with a sentence that says where."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a value, without its place."""

    type: str
    message: str

    def at(self, loc: Location) -> FieldError:
        return FieldError(loc, self.message, self.type)


def known_problem(kind: Any, **context: Any) -> Problem:
    """An error that pydantic knows ("missing"), with its message."""
    return Problem(kind, PydanticKnownError(kind, context or None).message())


MISSING = known_problem("missing")
NOT_UNICODE = known_problem("string_unicode")
NUMBER_TEXT = known_problem("float_parsing")


def above(bound: float) -> Problem:
    """The value has to be greater."""
    return known_problem("greater_than", gt=bound)


def unknown_field(nearest: Sequence[str]) -> Problem:
    """For `Prefer: handling=strict`."""
    problem = known_problem("extra_forbidden")
    hint = "; did you mean " + " or ".join(f"'{name}'" for name in nearest) + "?" if nearest else ""
    return Problem(problem.type, problem.message + hint)

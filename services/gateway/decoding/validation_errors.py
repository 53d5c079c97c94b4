"""The errors of a request as clients see them, with the messages and types of pydantic."""

from collections.abc import Iterable
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
    """The request is not valid: a 422 with all errors."""

    def __init__(self, field_errors: Iterable[FieldError]) -> None:
        super().__init__("the request is not valid")
        self.field_errors = tuple(field_errors)


class MalformedBody(Exception):
    """The body is not JSON: a 400 with the position of the error."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a value, without its location."""

    type: str
    message: str

    def at(self, loc: Location) -> FieldError:
        return FieldError(loc, self.message, self.type)


def known_problem(kind: Any, **context: Any) -> Problem:
    """An error that pydantic knows ("missing"), with its message."""
    return Problem(kind, PydanticKnownError(kind, context or None).message())


MISSING = known_problem("missing")
NOT_UNICODE = known_problem("string_unicode")


def unknown_field(nearest: str | None) -> Problem:
    """For `Prefer: handling=strict`: a field that does not exist, and the known name that is most like it."""
    problem = known_problem("extra_forbidden")
    return problem if nearest is None else Problem(problem.type, f"{problem.message}; did you mean '{nearest}'?")

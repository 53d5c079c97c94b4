"""The errors of a request as clients see them, with the messages and types of pydantic."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import PydanticKnownError

MAX_ERRORS = 100

# Where: ("query", "page_size"), ("body", "test_ids", 2).
Location = tuple[str | int, ...]


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


def known_error(loc: Location, kind: Any, **context: Any) -> FieldError:
    """An error that pydantic knows ("missing"), with its message."""
    return FieldError(loc, PydanticKnownError(kind, context or None).message(), kind)


def unknown_field(loc: Location, nearest: str | None) -> FieldError:
    """For `Prefer: handling=strict`: a field that does not exist, and the known name that is most like it."""
    error = known_error(loc, "extra_forbidden")
    return error if nearest is None else replace(error, msg=f"{error.msg}; did you mean '{nearest}'?")


def unknown_choice(loc: Location, known: Iterable[str]) -> FieldError:
    """A field that does not exist and cannot be ignored, and what can be sent instead."""
    error = known_error(loc, "extra_forbidden")
    names = ", ".join(known)
    instead = f"known here: {names}" if names else "send it in the body"
    return replace(error, msg=f"{error.msg}: it would choose what runs, so it is not ignored; {instead}")

"""Trims requests, checks them against the rules (protovalidate) of their protos, and sets their defaults."""

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from google.protobuf.message import Message

from services.chassis.errors import InvalidArgument, Violation
from services.chassis.method_options import apply_defaults, trimmed_fields

if TYPE_CHECKING:
    from protovalidate import Validator


def validate_and_default(request: Message) -> None:
    """Trim texts, check the request, then set the defaults of missing fields.

    Raises:
        InvalidArgument: the request is not valid; it lists every violation.
    """
    trim(request)
    violations = find_violations(request)
    if violations:
        first = violations[0]
        raise InvalidArgument(
            f"{first.field}: {first.message}" if first.field else first.message, violations=violations
        )
    apply_defaults(request)


def find_violations(request: Message) -> list[Violation]:
    """The violations of the message's rules, none when it is valid."""
    return [_violation(violation.proto) for violation in _validator().collect_violations(request)]


@cache
def _validator() -> "Validator":
    """Imported for the first message, because it takes 11 MiB."""
    from protovalidate import Validator

    return Validator()


def trim(request: Message) -> None:
    """Remove the white space around those texts of the request whose fields are `trimmed`."""
    for name in trimmed_fields(request.DESCRIPTOR):
        text = getattr(request, name)
        if text != text.strip():
            setattr(request, name, text.strip())


def _violation(proto: Any) -> Violation:
    field = _path(proto.field.elements) if proto.field is not None else ""
    return Violation(field, proto.message, proto.rule_id)


def _path(elements: Iterable[Any]) -> str:
    """As people write it: run_config.execution_mode.retries, test_ids[2], metadata["key"]."""
    return ".".join(element.field_name + _subscript(element.subscript) for element in elements)


def _subscript(subscript: Any) -> str:
    if subscript is None:
        return ""
    value = subscript.value
    return f'["{value}"]' if isinstance(value, str) else f"[{value}]"

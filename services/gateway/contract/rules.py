"""The bounds that the protos give to a field (protovalidate), as far as a client is told about them."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from buf.validate import validate_pb2
from google.protobuf.descriptor import FieldDescriptor

from services.gateway.contract.options import option

Number = int | float


@dataclass(frozen=True, slots=True)
class Rules:
    """The bounds of one field; None where there is none. Lengths count characters, or items of a list.

    `choices` are all values that it may have, if the rules name them.
    """

    required: bool = False
    minimum: Number | None = None
    maximum: Number | None = None
    above: Number | None = None
    below: Number | None = None
    min_length: int | None = None
    max_length: int | None = None
    uuid: bool = False
    choices: tuple[str | int, ...] = ()
    unique: bool = False
    items: "Rules | None" = None


_SAME_NAME = {"gte": "minimum", "lte": "maximum", "gt": "above", "lt": "below"}
_LENGTHS = {"min_len": "min_length", "max_len": "max_length", "min_items": "min_length", "max_items": "max_length"}


@cache
def rules(field: FieldDescriptor) -> Rules:
    """The rules of a field."""
    return _read(option(field, validate_pb2.field))


def _read(written: Any) -> Rules:
    kind = written.WhichOneof("type")
    found: dict[str, Any] = {"required": bool(written.required)}
    if kind is not None:
        found.update(_of_kind(getattr(written, kind)))
    return Rules(**found)


def _of_kind(typed: Any) -> dict[str, Any]:
    known = {field.name: value for field, value in typed.ListFields()}
    renamed = {**_SAME_NAME, **_LENGTHS, "uuid": "uuid", "unique": "unique"}
    found = {renamed[name]: value for name, value in known.items() if name in renamed}
    if "in" in known:
        found["choices"] = tuple(known["in"])
    if "items" in known:
        found["items"] = _read(known["items"])
    return found

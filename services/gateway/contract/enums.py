"""How JSON spells the values of enums."""

from dataclasses import dataclass
from functools import cache

from google.protobuf.descriptor import EnumDescriptor
from mobiletest.options.v1 import options_pb2

from services.gateway.contract.options import option


@dataclass(frozen=True, slots=True)
class Spellings:
    """Both directions of one enum. A value without a spelling encodes as null and cannot be sent."""

    by_number: dict[int, str]
    by_text: dict[str, int]
    by_folded: dict[str, int]

    @property
    def texts(self) -> tuple[str, ...]:
        """In the order of the proto."""
        return tuple(self.by_text)


@cache
def spellings(enum: EnumDescriptor) -> Spellings:
    """The spellings of an enum; ValueError when two values would read the same in a query."""
    named: dict[int, str] = {value.number: option(value, options_pb2.spelling) for value in enum.values}
    by_number = {number: text for number, text in named.items() if text}
    by_text = {text: number for number, text in by_number.items()}
    by_folded = {text.casefold(): number for text, number in by_text.items()}
    if len(by_folded) != len(by_number):
        raise ValueError(f"{enum.full_name}: two values have the same spelling")
    return Spellings(by_number, by_text, by_folded)

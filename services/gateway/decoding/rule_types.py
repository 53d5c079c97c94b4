"""From the rules of protovalidate to the types and messages that REST clients know: the one table."""

from collections.abc import Callable
from dataclasses import dataclass

from services.gateway.contract.enums import spellings
from services.gateway.contract.fields import Field
from services.gateway.decoding import wording
from services.gateway.decoding.issues import Refusal


@dataclass(frozen=True, slots=True)
class Broken:
    """A broken rule: its field, the value that broke it, and whether the request had that value."""

    field: Field
    value: object
    given: bool


def refusal(rule_id: str, message: str, broken: Broken | None) -> Refusal:
    """The refusal that a client sees; a rule that the table does not know keeps its own id and message."""
    explain = _BY_ID.get(rule_id) or _BY_SUFFIX.get(rule_id.rpartition(".")[2])
    if explain is None or broken is None:
        return Refusal(rule_id.replace(".", "_") or "value_error", message)
    return explain(broken)


def _required(broken: Broken) -> Refusal:
    if not broken.given:
        return wording.MISSING
    if broken.field.repeated:
        return wording.too_few(1, 0)
    return wording.UUID if broken.field.rules.uuid else wording.too_short(1)


def _enum(broken: Broken) -> Refusal:
    enum = broken.field.descriptor.enum_type
    return wording.one_of(spellings(enum).texts) if enum is not None else wording.INTEGER


def _bound(broken: Broken) -> Refusal:
    rules, value = broken.field.rules, _number(broken.value)
    if rules.minimum is not None and value < rules.minimum:
        return wording.at_least(rules.minimum)
    if rules.above is not None and value <= rules.above:
        return wording.above(rules.above)
    if rules.below is not None and value >= rules.below:
        return wording.below(rules.below)
    return wording.at_most(rules.maximum if rules.maximum is not None else value)


def _number(value: object) -> float:
    return value if isinstance(value, int | float) else 0


def _length(broken: Broken) -> Refusal:
    rules = broken.field.rules
    if isinstance(broken.value, str):
        rules = rules.items or rules if broken.field.repeated else rules
        least = rules.min_length or 0
        return wording.too_short(least) if len(broken.value) < least else wording.too_long(rules.max_length or 0)
    size = len(broken.value) if hasattr(broken.value, "__len__") else 0
    least = rules.min_length or 0
    return wording.too_few(least, size) if size < least else wording.too_many(rules.max_length or 0, size)


def _choice(broken: Broken) -> Refusal:
    return wording.one_of([str(choice) for choice in broken.field.rules.choices])


def _trimmed_length(most: int) -> "_Explain":
    def explain(broken: Broken) -> Refusal:
        return wording.too_long(most) if str(broken.value).strip() else wording.too_short(1)

    return explain


def _uuid(_: Broken) -> Refusal:
    return wording.UUID


def _unique(_: Broken) -> Refusal:
    return wording.NOT_UNIQUE


_Explain = Callable[[Broken], Refusal]

_BY_ID: dict[str, _Explain] = {
    "required": _required,
    "name.length": _trimmed_length(200),
    "reason.length": _trimmed_length(1000),
    "string.in": _choice,
    "enum.defined_only": _enum,
    "enum.in": _enum,
    "enum.not_in": _enum,
    "repeated.unique": _unique,
}
_BY_SUFFIX: dict[str, _Explain] = {
    **dict.fromkeys(("gte", "lte", "gt", "lt", "gte_lte", "gt_lte", "gte_lt", "gt_lt"), _bound),
    **dict.fromkeys(("min_len", "max_len", "len", "min_items", "max_items"), _length),
    **dict.fromkeys(("uuid", "uuid_empty"), _uuid),
}

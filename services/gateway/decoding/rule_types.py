"""From the rules of protovalidate to the types and messages that REST clients know: the one table."""

from collections.abc import Callable
from dataclasses import dataclass

from services.gateway.contract.fields import Field, enum_spellings
from services.gateway.decoding import validation_errors
from services.gateway.decoding.validation_errors import Problem


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A broken rule: its field, the value that broke it, and whether the request had that value."""

    field: Field
    value: object
    given: bool


def refusal(rule_id: str, message: str, broken: BrokenRule | None) -> Problem:
    """The refusal that a client sees; a rule that the table does not know keeps its own id and message."""
    explain = _BY_ID.get(rule_id) or _BY_SUFFIX.get(rule_id.rpartition(".")[2])
    if explain is None or broken is None:
        return Problem(rule_id.replace(".", "_") or "value_error", message)
    return explain(broken)


def _required(broken: BrokenRule) -> Problem:
    if not broken.given:
        return validation_errors.MISSING
    if broken.field.repeated:
        return validation_errors.too_few(1, 0)
    return validation_errors.UUID if broken.field.rules.uuid else validation_errors.too_short(1)


def _enum(broken: BrokenRule) -> Problem:
    enum = broken.field.descriptor.enum_type
    return validation_errors.one_of(enum_spellings(enum).texts) if enum is not None else validation_errors.INTEGER


def _bound(broken: BrokenRule) -> Problem:
    rules, value = broken.field.rules, _number(broken.value)
    if rules.minimum is not None and value < rules.minimum:
        return validation_errors.at_least(rules.minimum)
    if rules.above is not None and value <= rules.above:
        return validation_errors.above(rules.above)
    if rules.below is not None and value >= rules.below:
        return validation_errors.below(rules.below)
    return validation_errors.at_most(rules.maximum if rules.maximum is not None else value)


def _number(value: object) -> float:
    return value if isinstance(value, int | float) else 0


def _length(broken: BrokenRule) -> Problem:
    rules = broken.field.rules
    if isinstance(broken.value, str):
        rules = rules.items or rules if broken.field.repeated else rules
        least, most = rules.min_length or 0, rules.max_length or 0
        return validation_errors.too_short(least) if len(broken.value) < least else validation_errors.too_long(most)
    size = len(broken.value) if hasattr(broken.value, "__len__") else 0
    least, most = rules.min_length or 0, rules.max_length or 0
    return validation_errors.too_few(least, size) if size < least else validation_errors.too_many(most, size)


def _choice(broken: BrokenRule) -> Problem:
    return validation_errors.one_of([str(choice) for choice in broken.field.rules.choices])


def _trimmed_length(most: int) -> "_Explain":
    def explain(broken: BrokenRule) -> Problem:
        return validation_errors.too_long(most) if str(broken.value).strip() else validation_errors.too_short(1)

    return explain


def _uuid(_: BrokenRule) -> Problem:
    return validation_errors.UUID


def _unique(_: BrokenRule) -> Problem:
    return validation_errors.NOT_UNIQUE


_Explain = Callable[[BrokenRule], Problem]

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

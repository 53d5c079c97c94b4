"""Refusals because of an organisation's limits: the same error and metric in every service."""

from collections.abc import Iterable, Sequence

from services.chassis import metrics
from services.chassis.errors import DomainError, PermissionDenied, ResourceExhausted

LIMIT_REACHED = "LIMIT_REACHED"
MODEL_NOT_ALLOWED = "MODEL_NOT_ALLOWED"
ANY_MODEL = "*"

refusals = metrics.counter("mobiletest_limit_refusals_total", "Refusals because a limit was reached", ["limit"])


def limit_reached(name: str, limit: int, advice: str, *, retry_after: float | None = None) -> DomainError:
    """The error for what exceeds the limit, to be raised by the caller; counted.

    ResourceExhausted (429) with `retry_after`, the seconds after which it is worth trying again, and PermissionDenied
    (403) without, because waiting does not help.
    """
    refusals.labels(name).inc()
    message = f"Your organisation has reached its limit {name} ({limit}): {advice}"
    metadata = {"limit": name, "value": str(limit)}
    if retry_after is None:
        return PermissionDenied(message, reason=LIMIT_REACHED, metadata=metadata)
    return ResourceExhausted(message, reason=LIMIT_REACHED, metadata=metadata, retry_after=retry_after)


def check_models(allowed: Sequence[str], named: Iterable[str | None]) -> None:
    """Check the models of a run; an empty list or "*" allows any.

    Raises:
        PermissionDenied: one is not among the allowed ones (403).
    """
    if not allowed or ANY_MODEL in allowed:
        return
    refused = next((name for name in named if name is not None and name not in allowed), None)
    if refused is not None:
        refusals.labels("allowed_models").inc()
        message = f'Your organisation may not use the model "{refused}" (limit allowed_models): {_choices(allowed)}'
        metadata = {"limit": "allowed_models", "value": ",".join(allowed)}
        raise PermissionDenied(message, reason=MODEL_NOT_ALLOWED, metadata=metadata)


def _choices(allowed: Sequence[str]) -> str:
    return f"name one of {', '.join(allowed)} in llm_config, or none to use the default"

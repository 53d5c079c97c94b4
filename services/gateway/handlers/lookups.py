"""Reads by id, through the batches."""

from typing import Any

from services.gateway.handlers.unary import Asking, Invoke
from services.gateway.upstream.reads import Reads


def by_id(things: Reads, id_field: str) -> Invoke:
    """A Get by the one id in its request."""

    async def invoke(request: Any, asking: Asking, seconds: float) -> Any:
        return await things.get(asking.caller, getattr(request, id_field), seconds)

    return invoke


def unless_waiting(at_once: Invoke, waiting: Invoke) -> Invoke:
    """A Get that may be a long poll: then it is a call of its own."""

    async def invoke(request: Any, asking: Asking, seconds: float) -> Any:
        chosen = waiting if request.wait else at_once
        return await chosen(request, asking, seconds)

    return invoke

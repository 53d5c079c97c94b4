"""Reads that many clients ask for in the same words at the same time (a dashboard, a poll) are answered once for all.

Each answer is of a call that began after the request arrived, so nobody sees less than with a call of their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aiohttp.web import StreamResponse

from services.chassis import context
from services.chassis.context import Caller
from services.gateway.encoding.responses import ToJson
from services.gateway.handlers.invocation import Invocation
from services.gateway.handlers.unary import Invoke
from services.gateway.serving.exchange import Exchange
from services.gateway.serving.responses import json_response
from services.gateway.upstream.batches import Batches


@dataclass(frozen=True, slots=True)
class _Question:
    """The first who asks, and the headers of the common answer."""

    caller: Caller
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Answer:
    """The JSON text, and headers that belong to it."""

    body: bytes
    headers: Mapping[str, str]


class SharedHandler:
    """A GET with a JSON answer. The question is the organisation and the bytes of the request message."""

    def __init__(self, invocation: Invocation, invoke: Invoke, encode: ToJson, most_seconds: float) -> None:
        """A call may take `most_seconds`; those who wait for it leave when their own time is up."""
        self._invocation = invocation
        self._invoke = invoke
        self._encode = encode
        self._most_seconds = most_seconds
        self._batches: Batches[bytes, _Answer] = Batches(self._ask)

    async def __call__(self, exchange: Exchange) -> StreamResponse:
        decoded = await self._invocation.decode(exchange)
        seconds = self._invocation.seconds(decoded, exchange)
        question = decoded.message.SerializeToString(deterministic=True)
        with self._invocation.calling(decoded, exchange, seconds):
            batch = self._batches.join(exchange.caller, (question,), question=question)
            answer = (await batch.results(seconds))[question]
        return json_response(200, answer.body, {**exchange.headers, **answer.headers})

    async def _ask(self, questions: Sequence[bytes]) -> Mapping[bytes, _Answer]:
        """A batch has one question, because each question has its own lane."""
        (question,) = questions
        asking = _Question(context.current())
        with context.limit_time(self._most_seconds):
            message = await self._invoke(self._invocation.message(question), asking, self._most_seconds)
        return {question: _Answer(self._encode(message), asking.headers)}

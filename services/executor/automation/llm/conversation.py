"""Writes down what is said to models and by them, without secrets and with pictures by their names."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

import orjson
from pydantic import SecretStr

from services.chassis import logs
from services.executor.automation.llm.budget import BudgetTracker
from services.executor.automation.llm.chat_client import ChatClient, ChatRequest
from services.executor.automation.llm.tool_protocol import (
    InvalidToolCall,
    JsonObject,
    Reply,
    Tool,
    ToolCall,
    ValidToolCall,
    validate_call,
)
from services.executor.automation.ports import ModelFailed, Transcript
from services.executor.model.failures import Category

BYTES_LIMIT = 2 * 1024 * 1024
MASK = "[hidden]"
_CUT = b'{"kind": "cut", "why": "the transcript is too long"}'


class TranscriptWriter:
    """One attempt's; `taken` gives what was written since it was asked last."""

    def __init__(self, secrets: Sequence[SecretStr]) -> None:
        self._secrets = [secret.get_secret_value() for secret in secrets if secret.get_secret_value()]
        self._lines: list[bytes] = []
        self._size = 0
        self._pictures: list[tuple[str, bytes]] = []
        self._drawn = 0

    def note(self, kind: str, **said: object) -> None:
        """A line; what is too much is left out, and that is said."""
        if self._size > BYTES_LIMIT:
            return
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "kind": kind, **said}
        written = self._masked(orjson.dumps(line, default=str).decode()).encode()
        self._size += len(written)
        self._lines.append(written if self._size <= BYTES_LIMIT else _CUT)

    def picture(self, content: bytes) -> str:
        """Its name, which no other has."""
        self._drawn += 1
        name = f"model-{self._drawn}.png"
        self._pictures.append((name, content))
        return name

    def taken(self) -> Transcript:
        lines = b"".join(line + b"\n" for line in self._lines)
        transcript = Transcript(lines, tuple(self._pictures))
        self._lines, self._pictures, self._size = [], [], 0
        return transcript

    def _masked(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return logs.redact_text(text)


def without_pictures(message: JsonObject, names: Sequence[str]) -> JsonObject:
    """A message of the protocol with its pictures replaced by their names."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    left = list(names)
    parts = [{"image": left.pop(0) if left else "?"} if part.get("type") == "image_url" else part for part in content]
    return {**message, "content": parts}


INVALID_LIMIT = 3
"""After so many answers in a row that are not valid the model is not asked again."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelChannel:
    """How to talk: to which model, through what, counted and written down where."""

    client: ChatClient
    model: str
    spending: BudgetTracker
    writer: TranscriptWriter


class Conversation:
    """Only the newest screen is sent; of older ones it is said that they were there."""

    def __init__(self, line: ModelChannel, purpose: str, system: str, tools: Sequence[Tool]) -> None:
        self._line = line
        self._tools = tools
        self._messages: list[JsonObject] = [{"role": "system", "content": system}]
        self._screen_at: int | None = None
        self._open: ToolCall | None = None
        line.writer.note("conversation", purpose=purpose, model=line.model, system=system)

    def say(self, text: str) -> None:
        self._add({"role": "user", "content": text})

    def show(self, text: str, pictures: Sequence[bytes] = ()) -> None:
        """A screen as it is now, which takes the place of the one before."""
        if self._screen_at is not None:
            self._messages[self._screen_at] = {"role": "user", "content": "(the screen as it was then)"}
        content: list[JsonObject] = [{"type": "text", "text": text}]
        for picture in pictures:
            url = f"data:image/png;base64,{b64encode(picture).decode()}"
            content.append({"type": "image_url", "image_url": {"url": url}})
        self._screen_at = len(self._messages)
        self._add({"role": "user", "content": content if pictures else text}, pictures)

    def answer(self, text: str) -> None:
        """What came of the last call."""
        if self._open is not None:
            self._add({"role": "tool", "tool_call_id": self._open.id, "content": text})
            self._open = None

    async def ask(self, use: Callable[[ValidToolCall], T]) -> T:
        """What `use` makes of the model's call; a call that it, or the tool, refuses is told to the model."""
        for _ in range(INVALID_LIMIT):
            reply = await self._reply()
            try:
                return use(self._called(reply))
            except InvalidToolCall as refused:
                self._line.writer.note("refused", why=str(refused))
                self._object(f"Your answer was not valid and nothing was done, because {refused}.")
        raise ModelFailed(
            Category.GOAL_NOT_REACHED,
            f'the model "{self._line.model}" gave {INVALID_LIMIT} answers in a row that are not valid',
        )

    async def _reply(self) -> Reply:
        line = self._line
        schemas = [tool.schema() for tool in self._tools]
        question = ChatRequest(model=line.model, messages=self._messages, tools=schemas)
        try:
            reply = await line.client.ask(question, line.spending)
        except ModelFailed as failed:
            line.writer.note("failed", category=failed.category, message=failed.message)
            raise
        self._messages.append(reply.message())
        line.writer.note("reply", message=reply.message(), tokens=reply.tokens)
        return reply

    def _called(self, reply: Reply) -> ValidToolCall:
        """The one call that counts; further ones are answered at once, as the protocol asks."""
        if not reply.calls:
            raise InvalidToolCall("you have to call one of the tools")
        self._open = reply.calls[0]
        for call in reply.calls[1:]:
            self._add({"role": "tool", "tool_call_id": call.id, "content": "Not done: one call at a time."})
        return validate_call(self._open, self._tools)

    def _object(self, text: str) -> None:
        if self._open is not None:
            self.answer(text)
        else:
            self.say(text)

    def _add(self, message: JsonObject, pictures: Sequence[bytes] = ()) -> None:
        self._messages.append(message)
        names = [self._line.writer.picture(picture) for picture in pictures]
        self._line.writer.note("message", message=without_pictures(message, names))

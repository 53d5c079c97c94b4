"""Conversations with a model that answers by calling tools, and their transcript."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol, TypeVar

import orjson
from pydantic import SecretStr

from mobiletest_automation import logs
from mobiletest_automation.llm.budget import BudgetTracker
from mobiletest_automation.llm.chat_protocol import (
    ChatRequest,
    InvalidToolCall,
    JsonObject,
    Reply,
    Tool,
    ToolCall,
    ValidToolCall,
    validate_call,
)
from mobiletest_automation.llm.settings import ModelEndpoint
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model_ports import ModelFailed, ModelOptions, Transcript

BYTES_LIMIT = 2 * 1024 * 1024
MASK = "[hidden]"
_CUT = b'{"kind": "cut", "why": "the transcript is too long"}'


class TranscriptWriter:
    """The transcript of one attempt: secrets are masked, pictures are kept beside the text."""

    def __init__(self, secrets: Sequence[SecretStr]) -> None:
        self._secrets = [secret.get_secret_value() for secret in secrets if secret.get_secret_value()]
        self._lines: list[bytes] = []
        self._size = 0
        self._pictures: list[tuple[str, bytes]] = []
        self._picture_count = 0

    def write(self, kind: str, **fields: object) -> None:
        """Append a line. Lines beyond BYTES_LIMIT are dropped, with a last line that says so."""
        if self._size > BYTES_LIMIT:
            return
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "kind": kind, **fields}
        encoded = self._masked(orjson.dumps(line, default=str).decode()).encode()
        self._size += len(encoded)
        self._lines.append(encoded if self._size <= BYTES_LIMIT else _CUT)

    def add_picture(self, content: bytes) -> str:
        """Keep a picture. Return its unique name."""
        self._picture_count += 1
        name = f"model-{self._picture_count}.png"
        self._pictures.append((name, content))
        return name

    def take(self) -> Transcript:
        """Return what was written since the last call."""
        lines = b"".join(line + b"\n" for line in self._lines)
        transcript = Transcript(lines, tuple(self._pictures))
        self._lines, self._pictures, self._size = [], [], 0
        return transcript

    def _masked(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return logs.redact_text(text)


def without_pictures(message: JsonObject, names: Sequence[str]) -> JsonObject:
    """The message with its pictures replaced by their names."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    left = list(names)
    parts = [{"image": left.pop(0) if left else "?"} if part.get("type") == "image_url" else part for part in content]
    return {**message, "content": parts}


# Invalid answers in a row after which the model is not asked again.
INVALID_LIMIT = 3

T = TypeVar("T")


class ChatModel(Protocol):
    """Models that answer: `ChatClient`, or a worker's for the process of an attempt."""

    @property
    def endpoint(self) -> ModelEndpoint: ...

    async def ask(self, request: ChatRequest, budget: BudgetTracker) -> Reply:
        """The reply, counted in the budget.

        Raises:
            ModelFailed: the model cannot be asked, or its reply cannot be used.
        """


@dataclass(frozen=True, slots=True)
class ModelChannel:
    """A model with the client, options, budget and transcript of its attempt."""

    client: ChatModel
    model: str
    options: ModelOptions
    budget: BudgetTracker
    writer: TranscriptWriter


class Conversation:
    """The messages so far. Only the newest screen is sent; older ones are replaced by a remark."""

    def __init__(
        self, channel: ModelChannel, purpose: str, *, system: str, tools: Sequence[Tool], task: JsonObject
    ) -> None:
        """It begins with the system prompt, what the app's author says of the app, and the task."""
        if channel.options.app_prompt:
            system = f"{system}\n\nAbout the app:\n{channel.options.secrets.mask(channel.options.app_prompt)}"
        self._channel = channel
        self._tools = tools
        self._messages: list[JsonObject] = [{"role": "system", "content": system}]
        self._screen_index: int | None = None
        self._pending_call: ToolCall | None = None
        self._secrets = channel.options.secrets
        channel.writer.write("conversation", purpose=purpose, model=channel.model, system=system)
        self.say(orjson.dumps(task).decode())

    def say(self, text: str) -> None:
        self._add({"role": "user", "content": self._secrets.mask(text)})

    def show(self, text: str, pictures: Sequence[bytes] = ()) -> None:
        """Send the current screen in place of the previous one."""
        if self._screen_index is not None:
            self._messages[self._screen_index] = {"role": "user", "content": "(the screen as it was then)"}
        text = self._secrets.mask(text)
        content: list[JsonObject] = [{"type": "text", "text": text}]
        for picture in pictures:
            url = f"data:image/png;base64,{b64encode(picture).decode()}"
            content.append({"type": "image_url", "image_url": {"url": url}})
        self._screen_index = len(self._messages)
        self._add({"role": "user", "content": content if pictures else text}, pictures)

    def answer(self, text: str) -> None:
        """Send the result of the last call."""
        if self._pending_call is not None:
            self._add({"role": "tool", "tool_call_id": self._pending_call.id, "content": self._secrets.mask(text)})
            self._pending_call = None

    async def ask(self, use: Callable[[ValidToolCall], T]) -> T:
        """What `use` returns for the model's call. The model is told about an invalid call and asked again."""
        for _ in range(INVALID_LIMIT):
            reply = await self._reply()
            try:
                return use(self._valid_call(reply))
            except InvalidToolCall as error:
                self._channel.writer.write("refused", why=self._secrets.mask(str(error)))
                reply_to_call = self.say if self._pending_call is None else self.answer
                reply_to_call(f"Your answer was not valid and nothing was done, because {error}.")
        raise ModelFailed(
            Category.GOAL_NOT_REACHED,
            f'the model "{self._channel.model}" gave {INVALID_LIMIT} invalid answers in a row',
        )

    async def _reply(self) -> Reply:
        channel = self._channel
        schemas = [tool.schema() for tool in self._tools]
        request = ChatRequest(model=channel.model, messages=self._messages, tools=schemas)
        try:
            reply = await channel.client.ask(request, channel.budget)
        except ModelFailed as failed:
            channel.writer.write("failed", category=failed.category, message=failed.message)
            raise
        self._messages.append(reply.message())
        channel.writer.write("reply", message=self._secrets.mask_json(reply.message()), tokens=reply.tokens)
        return reply

    def _valid_call(self, reply: Reply) -> ValidToolCall:
        """The first call; the others are answered at once, as the protocol requires."""
        if not reply.calls:
            raise InvalidToolCall("you must call one of the tools")
        self._pending_call = reply.calls[0]
        for call in reply.calls[1:]:
            self._add({"role": "tool", "tool_call_id": call.id, "content": "Not done: one call at a time."})
        valid = validate_call(self._pending_call, self._tools)
        return replace(valid, arguments=self._secrets.reveal_json(valid.arguments))

    def _add(self, message: JsonObject, pictures: Sequence[bytes] = ()) -> None:
        self._messages.append(message)
        names = [self._channel.writer.add_picture(picture) for picture in pictures]
        self._channel.writer.write("message", message=without_pictures(message, names))

"""A conversation with a model that answers by calling tools; calls that are not valid are told to it, and not done."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from services.executor.automation.llm.client import ChatClient, Question
from services.executor.automation.llm.replies import JsonObject, Reply, ToolCall
from services.executor.automation.llm.spending import Spending
from services.executor.automation.llm.tools import Called, Refused, Tool, accepted
from services.executor.automation.llm.transcripts import Writer, without_pictures
from services.executor.automation.ports import ModelFailed
from services.executor.model.failures import Category

INVALID_LIMIT = 3
"""After so many answers in a row that are not valid the model is not asked again."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Line:
    """How to talk: to which model, through what, counted and written down where."""

    client: ChatClient
    model: str
    spending: Spending
    writer: Writer


class Conversation:
    """Only the newest screen is sent; of older ones it is said that they were there."""

    def __init__(self, line: Line, purpose: str, system: str, tools: Sequence[Tool]) -> None:
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

    async def ask(self, use: Callable[[Called], T]) -> T:
        """What `use` makes of the model's call; a call that it, or the tool, refuses is told to the model."""
        for _ in range(INVALID_LIMIT):
            reply = await self._reply()
            try:
                return use(self._called(reply))
            except Refused as refused:
                self._line.writer.note("refused", why=str(refused))
                self._object(f"Your answer was not valid and nothing was done, because {refused}.")
        raise ModelFailed(
            Category.GOAL_NOT_REACHED,
            f'the model "{self._line.model}" gave {INVALID_LIMIT} answers in a row that are not valid',
        )

    async def _reply(self) -> Reply:
        line = self._line
        schemas = [tool.schema() for tool in self._tools]
        question = Question(model=line.model, messages=self._messages, tools=schemas)
        try:
            reply = await line.client.ask(question, line.spending)
        except ModelFailed as failed:
            line.writer.note("failed", category=failed.category, message=failed.message)
            raise
        self._messages.append(reply.message())
        line.writer.note("reply", message=reply.message(), tokens=reply.tokens)
        return reply

    def _called(self, reply: Reply) -> Called:
        """The one call that counts; further ones are answered at once, as the protocol asks."""
        if not reply.calls:
            raise Refused("you have to call one of the tools")
        self._open = reply.calls[0]
        for call in reply.calls[1:]:
            self._add({"role": "tool", "tool_call_id": call.id, "content": "Not done: one call at a time."})
        return accepted(self._open, self._tools)

    def _object(self, text: str) -> None:
        if self._open is not None:
            self.answer(text)
        else:
            self.say(text)

    def _add(self, message: JsonObject, pictures: Sequence[bytes] = ()) -> None:
        self._messages.append(message)
        names = [self._line.writer.picture(picture) for picture in pictures]
        self._line.writer.note("message", message=without_pictures(message, names))

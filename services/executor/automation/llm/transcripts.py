"""Writes down what is said to models and by them, without secrets and with pictures by their names."""

from collections.abc import Sequence
from datetime import UTC, datetime

import orjson
from pydantic import SecretStr

from services.chassis import logs
from services.executor.automation.llm.replies import JsonObject
from services.executor.automation.ports import Transcript

BYTES_LIMIT = 2 * 1024 * 1024
MASK = "[hidden]"
_CUT = b'{"kind": "cut", "why": "the transcript is too long"}'


class Writer:
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

"""The corpus of failure messages: failure_messages.yaml beside this."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

_FILE = Path(__file__).with_name("failure_messages.yaml")


@dataclass(frozen=True)
class Kind:
    """Messages that have to fall into one group, and what the executor says beside them."""

    group: str
    category: str
    step: str
    messages: tuple[str, ...]


@cache
def kinds() -> tuple[Kind, ...]:
    """All groups of the corpus."""
    listed = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return tuple(Kind(each["group"], each["category"], each["step"], tuple(each["messages"])) for each in listed)


def messages() -> list[str]:
    """All messages of the corpus."""
    return [message for kind in kinds() for message in kind.messages]

"""What a step did: the action, on what, and how it was found."""

from dataclasses import dataclass, field

from services.executor.automation.elements import Element
from services.executor.automation.sentences.intents import Action
from services.executor.model.attempts import Resolution


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """`picture` is a screenshot that the step asked for, `name` what it is to be called."""

    action: Action
    resolution: Resolution
    element: Element | None = None
    message: str = ""
    picture: bytes | None = field(default=None, repr=False)
    name: str | None = None

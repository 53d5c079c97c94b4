"""What a step did: the action, on what, and how it was found."""

from dataclasses import dataclass, field

from services.executor.automation.elements import Element
from services.executor.model.attempts import CacheOutcome, Resolution


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """`action` is in the words of the API, `picture` a screenshot that the step asked for, `name` what to call it.

    `cache`, `model_calls` and `model_tokens` say what finding the action took.
    """

    action: str
    resolution: Resolution
    element: Element | None = None
    message: str = ""
    picture: bytes | None = field(default=None, repr=False)
    name: str | None = None
    cache: CacheOutcome | None = None
    model_calls: int = 0
    model_tokens: int = 0


@dataclass(slots=True)
class Account:
    """What a sentence has taken so far, whether it is carried out in the end or not.

    `resolution` is the last way that was tried to find its action, None as long as none was. `cache_failed` says that
    a remembered action went wrong, and that the attempt is to be repeated without memory.
    """

    cache: CacheOutcome | None = None
    resolution: Resolution | None = None
    model_calls: int = 0
    model_tokens: int = 0
    cache_failed: bool = False

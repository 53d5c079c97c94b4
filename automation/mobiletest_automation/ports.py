"""What running a test needs besides a device and models: a step cache, a person to ask, files, a store for evidence."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mobiletest_automation.flows.positions import SourcePosition
from mobiletest_automation.model.results import Artifact, CacheOutcome, StepResult
from mobiletest_automation.screen.elements import Element, Point
from mobiletest_automation.sentences.intents import Action


@dataclass(frozen=True, slots=True)
class ChosenAction:
    """The action to take: on which element, or at which point of the screen, with which value."""

    action: Action
    element: Element | None = None
    value: str | None = None
    point: Point | None = None


# Reads the screen, which may take a while.
GetScreen = Callable[[], Awaitable[Element]]


@dataclass(frozen=True, slots=True)
class StepCacheKey:
    """A sentence (or a goal) in the tests of one app of an organisation, on one platform."""

    org_id: str
    app: str
    platform: str
    sentence: str


@dataclass(frozen=True, slots=True)
class StoredSteps:
    """The sentences that reach a goal, or the names of the actions that carried out a sentence, in order."""

    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CacheLookup:
    """What the cache has: on a hit an action whose element is on the present screen, or steps."""

    outcome: CacheOutcome
    stored: ChosenAction | StoredSteps | None = None


class StepCache(Protocol):
    """What carried out a sentence on a screen before. Never raises: an unavailable cache has nothing."""

    async def lookup(self, key: StepCacheKey, look: GetScreen) -> CacheLookup:
        """What is stored for this sentence on this screen; stale if its element is not there any more."""

    async def store(self, key: StepCacheKey, tree: Element, worked: ChosenAction | StoredSteps) -> None:
        """Store what worked on this screen; steps are stored for every screen."""

    async def discard(self, key: StepCacheKey, tree: Element) -> None:
        """Remove what did not work on this screen."""


class NoStepCache:
    """A cache that stores nothing."""

    async def lookup(self, key: StepCacheKey, look: GetScreen) -> CacheLookup:
        return CacheLookup(CacheOutcome.MISS)

    async def store(self, key: StepCacheKey, tree: Element, worked: ChosenAction | StoredSteps) -> None:
        return None

    async def discard(self, key: StepCacheKey, tree: Element) -> None:
        return None


@dataclass(frozen=True, slots=True)
class HumanQuestion:
    """A question about a step that cannot continue; `screenshot` is the name of an artifact.

    To a person who tries steps it also says where the step is written, what is on the screen, and which answer has just
    worked, if one has: that one may be kept. `can_write`: so masked, it is a step of a flow that does the same.
    """

    text: str
    step_index: int
    options: tuple[str, ...]
    screenshot: str = ""
    position: SourcePosition | None = None
    screen: tuple[str, ...] = ()
    worked: str = ""
    can_write: bool = False


class Human(Protocol):
    """A person who may be asked."""

    async def ask(self, question: HumanQuestion) -> str | None:
        """One of the options, or a sentence to run instead; None when nobody answered in time.

        A person who tries steps may also write a command, as a line of a flow: "- tapOn: Pay".
        """


class FlowFiles(Protocol):
    """The pictures and videos that came with a flow, by the paths that its steps name."""

    def __contains__(self, path: object) -> bool: ...

    async def read(self, path: str) -> bytes:
        """The content of a file that is there.

        Raises:
            DeviceFailure: the file cannot be read.
        """


class NoFlowFiles:
    """No files were sent along."""

    def __contains__(self, path: object) -> bool:
        return False

    async def read(self, path: str) -> bytes:
        raise FileNotFoundError(path)


class AcceptedBaselines(Protocol):
    """The pictures with which assertScreenshot compares the screen."""

    async def load(self, name: str, form: str) -> bytes | None:
        """A PNG or JPEG; None if there is none. `form` is the device's: "android-1080x2400"."""


class NoBaselines:
    """There are none but the pictures that the test has taken itself."""

    async def load(self, name: str, form: str) -> bytes | None:
        return None


class EvidenceStore(Protocol):
    """Where screenshots and other artifacts go."""

    async def keep(self, name: str, content: bytes, content_type: str) -> int:
        """Store under a name that is unique within the run; how many bytes were stored, after secrets were masked.

        May raise: verdicts do not depend on it.
        """


class NoEvidenceStore:
    """Stores nothing."""

    async def keep(self, name: str, content: bytes, content_type: str) -> int:
        return len(content)


class ScreenStore(Protocol):
    """Where screens go: trees and pictures, each under the hash of its content, in which volatile parts do not count.

    A picture has the `state` of its screen too: what a hash of its elements and the device say.
    May raise: verdicts do not depend on it.
    """

    async def picture_of(self, state: str) -> str:
        """The hash of the picture of a screen in this state that a run of the same build has kept; "" if unknown."""

    async def has(self, hash: str, state: str = "") -> bool:
        """Whether it is stored; then it is kept as long as if it were stored now."""

    async def keep(self, hash: str, content: bytes, content_type: str, state: str = "") -> str:
        """Store it. Returns why it was not stored, such as a quota; "" if it was."""


class NoScreenStore:
    """Stores nothing."""

    async def picture_of(self, state: str) -> str:
        return ""

    async def has(self, hash: str, state: str = "") -> bool:
        return False

    async def keep(self, hash: str, content: bytes, content_type: str, state: str = "") -> str:
        return "nothing is stored here"


# Called after each step, and during one that takes longer, with all steps and artifacts so far. An exception from it
# after a step ends the attempt.
OnProgress = Callable[[Sequence[StepResult], Sequence[Artifact]], Awaitable[None]]

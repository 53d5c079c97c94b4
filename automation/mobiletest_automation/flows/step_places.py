"""Which step of a test a recorded one is: so it is known in other runs, without guesses."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from types import MappingProxyType

from mobiletest_automation.flows.steps import Flow, Step


@dataclass(frozen=True, slots=True)
class StepPlace:
    """A step of a test, and the rounds or tries of the loops around it, from 1, the outermost first.

    `path` is that of its value ("steps[3].repeat.commands[0]"). `words` is a digest of what it and the steps that hold
    it say, as they are written; empty if one beside them says the same.
    """

    path: str
    words: str = ""
    rounds: tuple[int, ...] = ()

    def name(self, *, same_version: bool) -> str:
        """Equal for the same step of two runs, in whichever rounds; empty if that is not certain.

        In one version of a test that is its path. Other versions may have moved it, and are compared by its words.
        """
        return self.path if same_version else self.words

    def key(self, test_version: int) -> str:
        """Equal for the same step in the same round in all runs of a test.

        One that only its version of the test tells from others is another step in another version.
        """
        return " ".join((self.words or f"{test_version} {self.path}", *map(str, self.rounds)))

    def is_same(self, other: "StepPlace", *, same_version: bool) -> bool:
        """Whether both are certain to be the same step."""
        name = self.name(same_version=same_version)
        return bool(name) and name == other.name(same_version=same_version)


NO_PLACES: Mapping[str, StepPlace] = MappingProxyType({})


def step_places(flow: Flow) -> dict[str, StepPlace]:
    """The places of its steps by their `Step.path`, in the order of `every_step`."""
    return dict(_places(flow.own_steps, "flow"))


def _places(steps: Sequence[Step], outer: str) -> Iterator[tuple[str, StepPlace]]:
    """`outer` are the words of the step that holds these."""
    titles = Counter((step.name, step.title) for step in steps)
    for step in steps:
        is_unique = titles[step.name, step.title] == 1
        words = _digest(f"{outer}\0{step.name}\0{step.title}") if outer and is_unique else ""
        yield step.path, StepPlace(step.value_path, words)
        yield from _places(step.inner_steps, words)


def _digest(text: str) -> str:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()

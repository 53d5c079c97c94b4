"""Where steps stand in their tests, so that the same step is recognised in other runs; nothing is guessed."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mobiletest_automation.flows.steps import Step
from mobiletest_automation.model.attempts import Attempt
from mobiletest_automation.model.results import StepStatus

# What holds steps and may run them more than once: rounds, tries, and the sentences of a goal.
LOOPS = frozenset({"repeat", "retry", "sentence"})


@dataclass(frozen=True, slots=True)
class StepLevel:
    """A step among those beside it: its kind and text, and its number from 0, which is None in a loop.

    `unique`: it is certain that none beside it has the same kind and text.
    """

    kind: str
    text: str
    number: int | None
    unique: bool


@dataclass(frozen=True, slots=True)
class StepPlace:
    """A step inside the steps that hold it, the outermost first."""

    levels: tuple[StepLevel, ...]

    def is_same(self, other: "StepPlace", *, same_version: bool) -> bool:
        """Whether both are the same step: in one version of the test by number, else by a text that is unique in both.

        In a loop, steps with the same text count as one.
        """
        return len(self.levels) == len(other.levels) and all(
            _is_same(one, another, same_version) for one, another in zip(self.levels, other.levels, strict=True)
        )


def _is_same(one: StepLevel, other: StepLevel, same_version: bool) -> bool:
    if one.kind != other.kind:
        return False
    if same_version and one.number is not None and other.number is not None:
        return one.number == other.number
    return one.text == other.text and (same_version or (one.unique and other.unique))


def places_of_attempt(attempt: Attempt) -> list[StepPlace | None]:
    """The place of each step.

    None after a failure beside it: nobody knows how many steps were left out in between.
    """
    titles = [_Title(step.kind, step.text, step.depth, step.status is StepStatus.FAILED) for step in attempt.steps]
    return _places(titles, complete=attempt.success is True)


def places_of_test(steps: Iterable[Step]) -> list[StepPlace | None]:
    """The place of each step and, after it, of those that it holds, as in `flows.steps.walk`."""
    return _places(list(_titles(steps)), complete=True)


@dataclass(frozen=True, slots=True)
class _Title:
    kind: str
    text: str
    depth: int
    failed: bool = False


def _titles(steps: Iterable[Step], depth: int = 0) -> Iterator[_Title]:
    for step in steps:
        yield _Title(step.name, step.title, depth)
        yield from _titles(step.inner_steps, depth + 1)


def _places(titles: Sequence[_Title], *, complete: bool) -> list[StepPlace | None]:
    """`complete`: no step beside these was left out."""
    parents = list(_parents(titles))
    alike = Counter((parent, title.kind, title.text) for parent, title in zip(parents, titles, strict=True))
    places: list[StepPlace | None] = []
    numbers: dict[int | None, int] = defaultdict(int)
    cut: set[int | None] = set()
    for parent, title in zip(parents, titles, strict=True):
        outer = StepPlace(()) if parent is None else places[parent]
        in_loop = parent is not None and titles[parent].kind in LOOPS
        unique = in_loop or (complete and alike[parent, title.kind, title.text] == 1)
        level = StepLevel(title.kind, title.text, None if in_loop else numbers[parent], unique)
        places.append(None if outer is None or parent in cut else StepPlace((*outer.levels, level)))
        numbers[parent] += 1
        if title.failed and not in_loop:
            cut.add(parent)
    return places


def _parents(titles: Sequence[_Title]) -> Iterator[int | None]:
    """The index of the step that holds each; None outside of all."""
    around: list[int] = []
    for index, title in enumerate(titles):
        del around[title.depth :]
        yield around[-1] if around else None
        around.append(index)

"""Variants of tests: what is judged is a test in one variant, its subject.

A subject is a text, "test" in the empty variant and "test@variant" in any other, so that each row of the read models
that belongs to a test has it in the place of the test, and histories of two variants never mix.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Subject: TypeAlias = str
# What is shown of a variant, by name.
Values: TypeAlias = Mapping[str, str]

# Ends the test in a subject: no id has it.
MARK = "@"


@dataclass(frozen=True, slots=True)
class Variant:
    """The variant of a run; `id` is empty for the empty one."""

    id: str = ""
    values: Values = field(default_factory=dict, hash=False)


EMPTY_VARIANT = Variant()


def subject_of(test_id: str, variant_id: str) -> Subject:
    return f"{test_id}{MARK}{variant_id}" if variant_id else test_id


def test_of(subject: Subject) -> str:
    """The test without its variant."""
    return subject.partition(MARK)[0]


def variant_of(subject: Subject) -> str:
    """The id of the variant; empty for the empty one."""
    return subject.partition(MARK)[2]


def is_variant(subject: Subject) -> bool:
    """Whether it is another than the empty one."""
    return MARK in subject


LABEL_LENGTH = 200
_NAMES_IN_LABEL = 8


class KnownVariants:
    """The subjects of tests that have run in other variants than the empty one, and what tells them apart."""

    def __init__(self, by_test: Mapping[str, Mapping[Subject, Values]]) -> None:
        """By test its subjects on one app, the empty variant included if it has run in it."""
        self._by_test = by_test
        self._labels = {subject: label for known in by_test.values() for subject, label in labels(known).items()}

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._by_test)

    def subjects(self, test_id: str) -> Iterable[Subject]:
        """Those of a test; only the test itself if it has run in the empty variant alone."""
        return self._by_test.get(test_id, (test_id,))

    def of_tests(self, test_ids: Iterable[str]) -> list[Subject]:
        """The subjects of these tests."""
        return [subject for test_id in test_ids for subject in self.subjects(test_id)]

    def with_others(self, other: "KnownVariants") -> "KnownVariants":
        """Those of both, which are of different tests."""
        return KnownVariants({**self._by_test, **other._by_test})  # noqa: SLF001 (of this class)

    def label(self, subject: Subject) -> str:
        """What tells the subject from the others of its test; empty if there are no others."""
        return self._labels.get(subject, "")


def labels(variants: Mapping[Subject, Values]) -> dict[Subject, str]:
    """By subject of one test, those of its values that differ between the variants: "LOCALE=de"."""
    if len(variants) < 2:
        return {}
    names = sorted({name for values in variants.values() for name in values})
    differing = [name for name in names if len({values.get(name) for values in variants.values()}) > 1]
    made = {subject: _label(values, differing) for subject, values in variants.items()}
    repeated = {text for text, count in Counter(made.values()).items() if count > 1}
    return {subject: _with_id(subject, text) if text in repeated else text for subject, text in made.items()}


def _label(values: Values, differing: Sequence[str]) -> str:
    parts = [f"{name}={values[name]}" if name in values else f"no {name}" for name in differing[:_NAMES_IN_LABEL]]
    return ", ".join(parts)[:LABEL_LENGTH]


def _with_id(subject: Subject, label: str) -> str:
    """For variants that differ in what is not shown."""
    variant_id = variant_of(subject)[:8] or "without variables"
    return f"{label}, variant {variant_id}" if label else f"variant {variant_id}"

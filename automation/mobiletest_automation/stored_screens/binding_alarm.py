"""Says when a passing step acts on another element than in its last passes."""

from collections.abc import Sequence
from itertools import pairwise, takewhile

from mobiletest_automation.screen.identity import ElementIdentity, is_same

# So many of the last passes are looked at.
PASSES_LIMIT = 20
# The last so many must have bound one element: with fewer nobody knows whether the step always does.
STEADY_PASSES = 3
# How often the element may have changed among them: a step that binds now this and now that gives no alarm.
CHANGES_LIMIT = 1


def changed_binding(past: Sequence[ElementIdentity], now: ElementIdentity) -> str:
    """What a step has bound now and what it bound before, as a sentence; empty if nothing is unusual.

    `past` are the elements of its last passes, the newest first: of the step in the same test, app and platform. An
    element that the step has bound before, or that has only another text, is no change.
    """
    past = past[:PASSES_LIMIT]
    if not past or any(is_same(each, now) for each in past):
        return ""
    steady = sum(1 for _ in takewhile(lambda each: is_same(each, past[0]), past))
    changes = sum(not is_same(newer, older) for newer, older in pairwise(past))
    if steady < STEADY_PASSES or changes > CHANGES_LIMIT:
        return ""
    before = f"in its last {steady} passes it bound {past[0].describe()}"
    return f"the step bound {_tell_apart(now, past[0])}; {before}"


def _tell_apart(now: ElementIdentity, before: ElementIdentity) -> str:
    """Another one of the same name is told apart by what is around it."""
    if now.describe() != before.describe():
        return now.describe()
    inside = f" in {now.ancestors[0]}" if now.ancestors else ""
    return f"another {now.describe()}{inside}"

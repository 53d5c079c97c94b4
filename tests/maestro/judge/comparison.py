"""Compares what Maestro did with what was done here."""

from collections.abc import Sequence
from itertools import zip_longest

from tests.maestro.judge.flows import ANY_APP, Action, JudgedFlow, Outcome

PIXELS = 1
MILLISECONDS = 1
# Of flows that type what is another text each time.
_RANDOM = ("inputRandom", "faker.", "Math.random", "Date")


def difference(flow: JudgedFlow, maestro: Outcome, ours: Outcome) -> str:
    """What differs, in a line; "" if nothing does.

    A flow that ends before it begins acts on nothing: if Maestro begins it and it fails, only the verdict counts.
    """
    if (maestro.verdict == "passed") != (ours.verdict == "passed"):
        return f"Maestro {_describe(maestro)}, here {_describe(ours)}"
    if ours.verdict == "refused":
        return ""
    theirs, here = plain_actions(maestro.actions), plain_actions(ours.actions)
    if _is_random(flow.text):
        theirs, here = [each[:1] for each in theirs], [each[:1] for each in here]
    for number, (one, other) in enumerate(zip_longest(theirs, here), 1):
        if one is None or other is None or not _same(one, other):
            return f"action {number}: Maestro {one or 'none'}, here {other or 'none'}"
    return ""


def _describe(outcome: Outcome) -> str:
    return f"{outcome.verdict} ({outcome.message})" if outcome.message else outcome.verdict


def _is_random(text: str) -> bool:
    return any(word in text for word in _RANDOM)


def plain_actions(actions: Sequence[Action]) -> list[Action]:
    """Without what has no effect, or depends on the speed of the machine."""
    plain: list[Action] = []
    for action in map(_plain_action, actions):
        before = plain[-1] if plain else ()
        match action:
            case ["permissions", app, {"all": "unset"}] if list(before) == ["clear state", app]:
                continue  # clearing the state takes the permissions anyway
            case ["permissions", _, permissions] if not permissions:
                continue
            case ["erase", 0]:
                continue
            case ["swipe", *_] | ["stop recording"] if action == before:
                continue
            case ["location", *_] if [each[0] for each in plain[-2:]] == ["location", "location"]:
                plain[-1] = action  # how many places there are on a way
                continue
        plain.append(action)
    return plain


def _plain_action(action: Action) -> Action:
    match list(action):
        case ["key", "Back" | "back"]:
            return ["back"]
        case ["key", str(name)]:
            return ["key", name.lower()]
        case ["erase", None]:
            return ["erase", 50]
        case same:
            return same


def _same(one: Sequence[object], other: Sequence[object]) -> bool:
    if one[0] != other[0] or len(one) != len(other):
        return False
    if one[0] in ("tap", "long press", "swipe"):
        return all(abs(float(a) - float(b)) <= PIXELS for a, b in zip(one[1:], other[1:], strict=True))  # type: ignore[arg-type]
    if one[0] == "location":
        return all(abs(float(a) - float(b)) < 1e-6 for a, b in zip(one[1:], other[1:], strict=True))  # type: ignore[arg-type]
    if len(other) > 1 and other[1] == ANY_APP:
        return [one[0], *one[2:]] == [other[0], *other[2:]]
    return list(one) == list(other)

"""Reads steps and checks them on stored screens, in a child process of `tree_reader`."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from mobiletest_automation.flows.loader import load_flow, parse_flow
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.flows.step_paths import step_at
from mobiletest_automation.flows.step_places import step_places
from mobiletest_automation.flows.steps import Step
from mobiletest_automation.sentences.shape import Shape
from mobiletest_automation.steps.resolution_policy import ResolutionPolicy
from mobiletest_automation.stored_screens.limits import condition_of
from mobiletest_automation.stored_screens.recheck import Recheck
from mobiletest_automation.stored_screens.report import StoredScreen, recheck_all
from mobiletest_automation.stored_screens.verdict import Verdict
from services.chassis.errors import Violation
from services.chassis.packed_parts import unpack

# A report on so many screens as there are usually takes less than a tenth.
CHECK_SECONDS = 3.0
PLATFORM = "its condition names a platform, and a stored screen does not tell a browser from an app"

Shape.compile_all()  # in the fork server, for all children


class _InvalidStep(Exception):
    def __init__(self, field: str, message: str, rule: str) -> None:
        super().__init__(message)
        self.violation = Violation(field, message, rule)


def read_step(request: bytes) -> bytes:
    """The step that was asked for, or why there is none."""
    wanted = orjson.loads(request)
    try:
        place, other_words = _places(wanted["test_steps"], wanted["path"])
        value = _find(wanted)
        step = _parse(value, "step" if wanted["flow"] is None else "flow")
    except _InvalidStep as invalid:
        return orjson.dumps({"violation": invalid.violation})
    written = {"value": value, "kind": step.name, "title": step.title}
    return orjson.dumps({**written, "place": place, "other_words": other_words})


def _find(wanted: Mapping[str, Any]) -> Any:
    """The value of the step."""
    if wanted["flow"] is not None:
        return _step_of_flow(wanted["flow"])
    if wanted["step"] is not None:
        return wanted["step"]
    return step_at(wanted["test_steps"], wanted["path"])


def _places(steps: Sequence[object], path: str | None) -> tuple[tuple[str, str] | None, Sequence[str]]:
    """The path and the words of the step of the test at the path, and the words of the others."""
    if path is None:
        return None, ()
    try:
        flow = parse_flow(steps)
    except DocumentError as error:
        message = f"the steps of the test cannot be read: {error.message}"
        raise _InvalidStep("step_path", message, "step_path.test") from None
    words = {place.path: place.words for place in step_places(flow).values()}
    if path in words:
        return (path, words.pop(path)), list(filter(None, words.values()))
    first = next(iter(words))
    raise _InvalidStep("step_path", f"the test has no step at this path; its first is {first}", "step_path.unknown")


def _step_of_flow(text: str) -> Any:
    loaded = load_flow(text)
    if loaded.flow is None:
        raise _InvalidStep("flow", str(loaded.problems[0]), "flow.invalid")
    if len(loaded.flow.own_steps) != 1 or len(loaded.flow.steps) != 1:
        raise _InvalidStep("flow", "expected one step", "flow.one_step")
    return loaded.steps[-1]


def _parse(value: Any, field: str) -> Step:
    if not isinstance(value, str | dict):
        raise _InvalidStep(field, "expected a sentence, or an object with one command", "step.type")
    try:
        (step,) = parse_flow([value], root="step").own_steps
    except DocumentError as error:
        message = f"{error.path.replace('step[0]', 'step')}: {error.message}"
        raise _InvalidStep(field, message, "step.invalid") from None
    return step


def check(request: bytes) -> bytes:
    """What the step does on each of the screens."""
    wanted, trees = unpack(request)
    (step,) = parse_flow([wanted["step"]]).own_steps
    own, others = (
        [
            StoredScreen(id=f"{kind}{number}", step="", platform=platform, tree=trees[tree])
            for number, (tree, platform) in enumerate(wanted[kind])
        ]
        for kind in ("own", "others")
    )
    if _names_platform(step):
        unknown = Recheck(Verdict.UNKNOWN, PLATFORM)
        return _answer([unknown] * len(own), [unknown] * len(others))
    policy = ResolutionPolicy(fallback=wanted["may_ask_model"])
    report = recheck_all(step, own, others, policy=policy, seconds=CHECK_SECONDS)
    verdicts = ([report.verdicts[each.id] for each in screens] for screens in (own, others))
    return _answer(*verdicts, asserts_nothing=report.asserts_nothing)


def _names_platform(step: Step) -> bool:
    condition = condition_of(step.command)
    return condition is not None and condition.platform is not None


def _answer(own: Sequence[Recheck], others: Sequence[Recheck], *, asserts_nothing: bool | None = None) -> bytes:
    answer = {
        "own": list(map(_verdict, own)),
        "others": list(map(_verdict, others)),
        "asserts_nothing": asserts_nothing,
    }
    return orjson.dumps(answer)


def _verdict(answer: Recheck) -> tuple[str, str, str]:
    return answer.verdict, answer.reason, "" if answer.identity is None else answer.identity.describe()

"""Makes a proposal from stored screens, in a child process of `healing_pool`."""

from collections.abc import Iterator, Sequence

from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.flows.step_paths import NoSuchStep, step_at
from mobiletest_automation.flows.steps import Step
from mobiletest_automation.model.results import BoundElement
from mobiletest_automation.screen.identity import as_bound, find_same, from_bound, identity_of
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.screen.stored_trees import UnreadableTree, decode_tree
from mobiletest_automation.stored_screens.healing import PastBinding, propose
from mobiletest_automation.stored_screens.wordings import as_line
from services.executor.model.step_places import StepLevel
from services.executor.model.step_proposals import HealingRequest, StepProposal

OTHER_STEP = "the steps of the test do not have the step that failed where it was"
UNREADABLE = "the stored elements of a screen cannot be read"
NOT_CERTAIN = "which element it is now is not certain, or no other way to write the step is"


def propose_step(request: HealingRequest) -> StepProposal | str:
    """The proposal, or a sentence on why there is none."""
    try:
        step = _step_of(parse_flow(list(request.steps)).steps, request.levels)
        path = step.value_path if step is not None else ""
        old = step_at(request.steps, path) if step is not None else None
    except (DocumentError, NoSuchStep):
        step = old = None
    if step is None or old is None:
        return OTHER_STEP
    try:
        outlines = [Outline(decode_tree(tree)) for tree in request.trees]
    except UnreadableTree:
        return UNREADABLE
    past = list(_past(request.past, outlines))
    if len(past) != len(request.past):
        return NOT_CERTAIN
    proposal = propose(old, outlines[0], past, platform=request.platform)
    if proposal is None:
        return NOT_CERTAIN
    return StepProposal(
        path=path,
        old_step=old,
        old_line=as_line(old),
        step=proposal.step,
        line=proposal.line,
        why=proposal.why,
        element=as_bound(proposal.identity, outlines[0].root.bounds),
    )


def _step_of(steps: Sequence[Step], levels: Sequence[StepLevel]) -> Step | None:
    """The step at this place; None if another one is there, or if it is one of several in a loop."""
    step = None
    for level in levels:
        alike = [each for each in steps if (each.name, each.title) == (level.kind, level.text)]
        if level.number is not None:
            at = steps[level.number] if level.number < len(steps) else None
            step = at if at in alike else None
        else:
            step = alike[0] if len(alike) == 1 else None
        if step is None:
            return None
        steps = step.inner_steps
    return step


def _past(past: Sequence[tuple[BoundElement, int]], outlines: Sequence[Outline]) -> Iterator[PastBinding]:
    """Without those whose element is not found on its own screen."""
    for bound, tree in past:
        identity = from_bound(bound)
        element = find_same(identity, outlines[tree])
        if element is not None:
            found = identity_of(element, outlines[tree])
            if found.path == identity.path:
                yield PastBinding(found, outlines[tree])

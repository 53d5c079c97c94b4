"""Makes a proposal from stored screens, in a child process of `healing_pool`."""

from collections.abc import Iterator, Sequence

from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.flows.step_paths import NoSuchStep, step_at
from mobiletest_automation.model.results import BoundElement
from mobiletest_automation.screen.identity import as_bound, find_same, from_bound, identity_of
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.screen.stored_trees import UnreadableTree, decode_tree
from mobiletest_automation.stored_screens.healing import PastBinding, propose
from mobiletest_automation.stored_screens.wordings import as_line
from services.executor.model.step_proposals import HealingRequest, StepProposal

NO_STEP = "the test has no step where the one that failed was"
VARIABLES = "the step is written with variables"
UNREADABLE = "the stored elements of a screen cannot be read"
NOT_CERTAIN = "which element it is now is not certain, or no other way to write the step is"


def propose_step(request: HealingRequest) -> StepProposal | str:
    """The proposal, or a sentence on why there is none."""
    try:
        flow = parse_flow(list(request.steps))
        old = step_at(request.steps, request.path)
    except (DocumentError, NoSuchStep):
        return NO_STEP
    if any(step.value_path == request.path and step.pending is not None for step in flow.every_step()):
        return VARIABLES
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
        path=request.path,
        old_step=old,
        old_line=as_line(old),
        step=proposal.step,
        line=proposal.line,
        why=proposal.why,
        element=as_bound(proposal.identity, outlines[0].root.bounds),
        past_screens=len(past),
        held_screens=proposal.held_screens,
    )


def _past(past: Sequence[tuple[BoundElement, int]], outlines: Sequence[Outline]) -> Iterator[PastBinding]:
    """Without those whose element is not found on its own screen."""
    for bound, tree in past:
        identity = from_bound(bound)
        element = find_same(identity, outlines[tree])
        if element is not None:
            found = identity_of(element, outlines[tree])
            if found.path == identity.path:
                yield PastBinding(found, outlines[tree])

"""Finds the variants of new runs, and remembers those that their tests have had."""

import asyncio
from collections.abc import Collection, Mapping, Sequence

from mobiletest_automation.flows.environment import override
from mobiletest_automation.flows.variables import variables_read
from mobiletest_automation.model.variants import EMPTY_VARIANT, Dimensions, Variant, dimensions
from services.chassis import logs
from services.executor.model.executions import Execution
from services.executor.model.runs import RunPlan
from services.executor.model.variants import NO_VARIANTS, KnownVariants, add_variant
from services.executor.ports.executions import Executions

# To remember new variants, while other starts of the same tests have new ones too.
TRIES = 3

log = logs.get(__name__)


async def find_variants(executions: Executions, execution: Execution, plans: Sequence[RunPlan]) -> list[Variant]:
    """The variant of a run of each plan."""
    wanted = [await _dimensions(execution, plan) for plan in plans]
    tests = {plan.target.test_id for plan, each in zip(plans, wanted, strict=True) if each}
    known = await _remember(executions, tests, plans, wanted) if tests else {}
    return [
        add_variant(known[plan.target.test_id], each)[0] if each else EMPTY_VARIANT
        for plan, each in zip(plans, wanted, strict=True)
    ]


async def _dimensions(execution: Execution, plan: RunPlan) -> Dimensions:
    env = override(execution.run_config.env, plan.env)
    if not env:
        return {}
    await asyncio.sleep(0)  # the steps of a test may take some milliseconds
    return dimensions(env, variables_read(plan.steps, env.keys()))


async def _remember(
    executions: Executions, tests: Collection[str], plans: Sequence[RunPlan], wanted: Sequence[Dimensions]
) -> Mapping[str, KnownVariants]:
    """What is known of these tests with the new variants. If other starts are faster, later ones remember them."""
    remembered: dict[str, KnownVariants] = {}
    left = frozenset(tests)
    for _ in range(TRIES):
        loaded = await executions.known_variants(left)
        before = {test_id: loaded.get(test_id, NO_VARIANTS) for test_id in left}
        after = dict(before)
        for plan, each in zip(plans, wanted, strict=True):
            if each and plan.target.test_id in left:
                after[plan.target.test_id] = add_variant(after[plan.target.test_id], each)[1]
        remembered |= after
        changed = {
            test_id: (before[test_id], after[test_id]) for test_id in left if after[test_id] is not before[test_id]
        }
        left = frozenset(await executions.remember_variants(changed)) if changed else frozenset()
        if not left:
            break
    return remembered

"""Plans that are made at the same time have a bounded size together."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast
from uuid import uuid4

import pytest
from mobiletest.catalog.v1 import resolution_pb2

from services.catalog.grpc.resolution import ANSWER_BYTES, ResolutionServicer
from services.catalog.model.organisation_limits import OrganisationLimits
from services.catalog.model.tests import PLAN_BYTES
from services.catalog.ports import Limits
from services.catalog.usecases.resolution import ResolutionUseCases, Resolved
from services.chassis.context import Caller, bind
from services.chassis.errors import ResourceExhausted
from tests.eventually import eventually

REQUEST = resolution_pb2.ResolveRunsRequest(workflow_id=str(uuid4()))
Resolve = Callable[[ResolutionServicer], Awaitable[object]]


async def in_one_message(servicer: ResolutionServicer) -> object:
    return await servicer.ResolveRuns(REQUEST, None)


async def in_parts(servicer: ResolutionServicer) -> object:
    return [part async for part in servicer.StreamRuns(resolution_pb2.StreamRunsRequest(start=REQUEST), None)]


class NoLimits:
    async def get(self) -> OrganisationLimits:
        return OrganisationLimits()


class HeldPlans:
    """Makes empty plans, each as soon as it is let go."""

    def __init__(self) -> None:
        # The sizes of the plans that are being made.
        self.made: list[int] = []
        self.go_on = asyncio.Event()

    async def of_workflow(self, *_: Any, most_bytes: int, **__: Any) -> Resolved:
        self.made.append(most_bytes)
        await self.go_on.wait()
        self.made.pop()
        return Resolved(None, ())


def start(servicer: ResolutionServicer, resolve: Resolve, org_id: str) -> asyncio.Task[object]:
    with bind(Caller(org_id=org_id)):
        return asyncio.create_task(cast(Any, resolve(servicer)))


@pytest.mark.parametrize(
    ("resolve", "own", "together", "size"), [(in_one_message, 8, 16, ANSWER_BYTES), (in_parts, 1, 2, PLAN_BYTES)]
)
async def test_concurrent_large_plans_are_limited(resolve: Resolve, own: int, together: int, size: int) -> None:
    plans = HeldPlans()
    servicer = ResolutionServicer(cast(ResolutionUseCases, plans), cast(Limits, NoLimits()))
    tasks = [start(servicer, resolve, "a") for _ in range(9)]
    await eventually(lambda: plans.made == [size] * own)
    tasks += [start(servicer, resolve, org_id) for org_id in "bcdefghijk"]
    await eventually(lambda: plans.made == [size] * together)
    plans.go_on.set()
    assert len(await asyncio.gather(*tasks)) == 19


async def test_large_plans_that_are_given_up_leave_their_places() -> None:
    plans = HeldPlans()
    servicer = ResolutionServicer(cast(ResolutionUseCases, plans), cast(Limits, NoLimits()))
    tasks = [start(servicer, in_parts, "a") for _ in range(9)]
    await eventually(lambda: len(plans.made) == 1)
    with pytest.raises(ResourceExhausted):
        await start(servicer, in_parts, "a")
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    plans.go_on.set()
    assert await start(servicer, in_parts, "a")

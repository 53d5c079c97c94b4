"""Steps are resolved in children, so that a hostile page source costs its own organisation only."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio
from mobiletest.executor.v1 import steps_pb2 as pb

from services.chassis import context
from services.chassis.errors import InvalidArgument, ResourceExhausted
from services.chassis.proto_values import json_to_value, struct_to_json
from services.executor.resolver_pool import LIMITS, VALUE_LIMIT, ResolverPool

pytestmark = pytest.mark.asyncio(loop_scope="module")

BUTTON = '<node class="a.Button" text="Go" bounds="[0,0][9,9]"/>'
LARGE = f"<hierarchy>{'<node/>' * 10_000}{BUTTON}</hierarchy>"


def request(source: str, step: object = 'Tap "Go"') -> pb.ResolveStepRequest:
    return pb.ResolveStepRequest(step=json_to_value(step), source=source)


async def resolve(pool: ResolverPool, asked: pb.ResolveStepRequest, org: str = "one") -> pb.ResolveStepResponse:
    with context.bind(context.Caller(org)):
        return await pool.resolve(asked)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[ResolverPool]:
    made = ResolverPool()
    yield made
    await made.close()


@pytest_asyncio.fixture(loop_scope="module")
async def strict_pool() -> AsyncIterator[ResolverPool]:
    made = ResolverPool(replace(LIMITS, cpu_seconds=0.02))
    yield made
    await made.close()


async def test_a_step_is_resolved(pool: ResolverPool) -> None:
    resolution = await resolve(pool, request(f"<hierarchy>{BUTTON}</hierarchy>"))
    assert (resolution.action, struct_to_json(resolution.element)["text"], len(resolution.candidates)) == (
        "tap",
        "Go",
        1,
    )


async def test_an_invalid_request_names_the_field(pool: ResolverPool) -> None:
    with pytest.raises(InvalidArgument) as error:
        await resolve(pool, request("<hierarchy>"))
    (violation,) = error.value.violations
    assert (violation.field, "line 1, column 12" in violation.message) == ("source", True)


async def test_long_attributes_are_shortened(pool: ResolverPool) -> None:
    long = BUTTON.replace("/>", f" x='{'y' * 50_000}'/>")
    resolution = await resolve(pool, request(f"<hierarchy>{long}</hierarchy>"))
    assert struct_to_json(resolution.element)["x"] == "y" * VALUE_LIMIT + "..."


HOSTILE = {
    "references": f'<p id="a">{"x " * 100_000}</p><input aria-labelledby="{"a " * 3_000}">',
    "references to one text": f'<p id="a">{"x " * 100_000}</p>' + '<input aria-labelledby="a">' * 5_000,
    "nested texts": "<span>" * 390 + "x " * 1_000_000 + "</span>" * 390,
    "nested fieldsets": "<fieldset disabled>" * 390 + "<input>" * 8_000 + "</fieldset>" * 390,
    "nested labels": "<label>" * 390 + "<b>x</b>" * 5_000 + "</label>" * 390,
    "nested lists of options": "<select>" * 390 + "<option>x</option>" * 5_000 + "</select>" * 390,
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
async def test_a_page_that_multiplies_its_texts_is_read_within_the_limits(pool: ResolverPool, hostile: str) -> None:
    resolution = await resolve(pool, request(f"<html><body><button>Go</button>{hostile}</body></html>"))
    assert resolution.action == "tap"


@pytest.mark.parametrize(
    "step",
    [
        'Tap "Go" in the "Go" list',
        'Tap "Go" in the row of "Go"',
        'Type "x" into the third "Go" field',
        "Tap go in the go",
    ],
)
async def test_a_screen_with_thousands_of_candidates_in_hundreds_of_levels_is_searched_within_the_limits(
    pool: ResolverPool, step: str
) -> None:
    """A search that climbs from each candidate takes 8 million steps."""
    levels = '<node class="a.X" bounds="[0,0][9,9]">'
    source = f"<hierarchy>{levels * 390}{BUTTON * 15_000}{'</node>' * 390}</hierarchy>"
    assert (await resolve(pool, request(source, step))).action == "none"


async def test_a_source_that_takes_too_much_is_refused(strict_pool: ResolverPool) -> None:
    with pytest.raises(InvalidArgument) as error:
        await resolve(strict_pool, request(LARGE))
    (violation,) = error.value.violations
    assert violation.field == "source"
    assert "more than 0.02 s of CPU; send the page source of one screen" in violation.message


async def test_an_organisation_with_many_requests_leaves_a_child_to_others() -> None:
    pool, small = (
        ResolverPool(replace(LIMITS, cpu_seconds=60, wall_seconds=60)),
        request(f"<hierarchy>{BUTTON}</hierarchy>"),
    )
    # Both children have started then: on a loaded machine that may take as long as all the requests.
    await asyncio.gather(resolve(pool, small, "first"), resolve(pool, small, "second"))
    busy = [asyncio.create_task(resolve(pool, request(LARGE), "many")) for _ in range(12)]
    await asyncio.sleep(0)
    assert (await resolve(pool, small, "other")).action == "tap"
    assert sum(task.done() and task.exception() is None for task in busy) < 8
    refused = [error for error in await asyncio.gather(*busy, return_exceptions=True) if isinstance(error, Exception)]
    assert [type(error) for error in refused] == [ResourceExhausted] * 3
    await pool.close()

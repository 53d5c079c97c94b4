"""Steps are read in children, so that large tests cost their own organisation only."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from services.catalog.flow_reader import LIMITS, PROBLEMS_LIMIT, ChildFlowReader, read_flow
from services.catalog.model.values import InvalidValue
from services.chassis import context
from services.chassis.context import Caller

LARGE: Any = [{"inputText": "${(((a)))}" * 900} for _ in range(50)]


@pytest.fixture
async def reader() -> AsyncIterator[ChildFlowReader]:
    made = ChildFlowReader()
    yield made
    await made.close()


async def test_a_child_reads_what_this_process_would(reader: ChildFlowReader) -> None:
    file = "name: Påy\ntags: [a, b]\n---\n- runFlow: f\n- 'Tap \"Go\"'\n"
    files = {"f": "- inputText: {text: 007}\n"}
    flow = await reader.read(file, files)
    assert flow == read_flow(file, files)
    assert (flow.name, flow.tags, len(flow.steps)) == ("Påy", ("a", "b"), 3)
    assert await reader.read(flow.steps) == flow


@pytest.mark.parametrize("source", ["- tapOnn: x\n", "- [\n", [{"tapOnn": "x"}], [], "\ud800"], ids=repr)
async def test_problems_are_the_same(reader: ChildFlowReader, source: Any) -> None:
    flow = await reader.read(source)
    assert flow.problems
    assert flow == read_flow(source)


async def test_notices_and_paths_of_a_workspace_come_from_the_child(reader: ChildFlowReader) -> None:
    flow, files = "owner: x\n---\n- runFlow: ../a.yaml", {"a.yaml": "- back"}
    answer = await reader.read(flow, files, "tests/b.yaml")
    assert answer == read_flow(flow, files, "tests/b.yaml")
    assert [(each.file, each.line, each.column) for each in answer.notices] == [("tests/b.yaml", 1, 1)]
    (problem,) = (await reader.read(flow, {}, "tests/b.yaml")).problems
    assert (problem.file, problem.line, problem.column) == ("tests/b.yaml", 3, 12)


async def test_problems_are_limited(reader: ChildFlowReader) -> None:
    assert len((await reader.read(["tapOnn"] * 200)).problems) == PROBLEMS_LIMIT


async def test_what_takes_too_much_is_invalid() -> None:
    reader = ChildFlowReader(replace(LIMITS, cpu_seconds=0.02))
    with pytest.raises(InvalidValue) as error:
        await reader.read(LARGE)
    assert (error.value.field, "more than 0.02 s of CPU" in error.value.message) == ("steps", True)


async def test_an_organisation_with_many_tests_leaves_a_child_to_others(reader: ChildFlowReader) -> None:
    other = Caller("another")
    with context.bind(other):
        started = asyncio.create_task(reader.read(["Tap Go"]))
    await asyncio.gather(reader.read(["Tap Go"]), started)  # both children run
    busy = [asyncio.create_task(reader.read(LARGE)) for _ in range(2)]
    await asyncio.sleep(0)
    with context.bind(other):
        assert (await reader.read(["Tap Go"])).steps == ("Tap Go",)
    assert not any(task.done() for task in busy)
    for task in busy:
        task.cancel()
    await asyncio.wait(busy)

"""Tests that are created from a Maestro flow."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from services.catalog.usecases.tests import NewTest
from services.chassis.errors import InvalidArgument
from tests.integration.catalog.usecases.conftest import Catalog

pytestmark = pytest.mark.asyncio(loop_scope="session")

MAESTRO = """appId: com.example.shop
name: Log in
tags: [smoke]
---
- launchApp:
    clearState: true
- tapOn: Log in
- inputText: 007
"""


async def test_a_flow_gives_the_steps_and_the_fields_that_are_not_sent(catalog: Catalog) -> None:
    """Its configuration is the first step; a name or tags of the request go before those of the flow."""
    test = (await catalog.tests.create(NewTest(flow=MAESTRO))).test
    assert (test.name, test.tags) == ("Log in", ("smoke",))
    assert test.steps == (
        {"appId": "com.example.shop", "name": "Log in", "tags": ["smoke"]},
        {"launchApp": {"clearState": True}},
        {"tapOn": "Log in"},
        {"inputText": "007"},
    )
    named = (await catalog.tests.create(NewTest("Mine", flow=MAESTRO, tags=("own",)))).test
    assert (named.name, named.tags) == ("Mine", ("own",))
    changed = (await catalog.tests.update(test.id, {"flow": "- back"})).test
    assert (changed.steps, changed.version_number, changed.name) == (("back",), 2, "Log in")


async def test_a_flow_is_parsed_once(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse_yaml = yaml.parse

    def parse(text: str, **options: Any) -> Iterator[Any]:
        parsed.append(text)
        return parse_yaml(text, **options)

    monkeypatch.setattr(yaml, "parse", parse)
    test = (await catalog.tests.create(NewTest(flow=MAESTRO))).test
    await catalog.tests.update(test.id, {"flow": "- back"})
    assert parsed == [MAESTRO, "- back"]


async def test_a_flow_brings_the_files_that_it_runs(catalog: Catalog) -> None:
    files = {"log-in.yaml": "- tapOn: Log in"}
    run = {"runFlow": {"label": "log-in.yaml", "commands": [{"tapOn": "Log in"}]}}
    test = (await catalog.tests.create(NewTest("t", flow="- runFlow: log-in.yaml", flow_files=files))).test
    assert test.steps == (run,)
    changed = (
        await catalog.tests.update(test.id, {"flow": "- back\n- runFlow: log-in.yaml", "flow_files": files})
    ).test
    assert changed.steps == ("back", run)
    with pytest.raises(InvalidArgument, match="there is no flow that runs these files"):
        await catalog.tests.update(test.id, {"flow_files": files})


@pytest.mark.parametrize(
    ("new", "fields", "message"),
    [
        (NewTest("t", ("scroll",), flow_files={"a": "- back"}), ["flow_files"], "there is no flow"),
        (NewTest("t", flow="- runFlow: a", flow_files={"a": "- tapp: x"}), ["flow"], "line 1, column 3 (a[0])"),
        (NewTest("t", flow="- back\n- evalScript: ${1\n- tap: x"), ["flow", "flow"], "line 2, column 15"),
        (NewTest("t", flow="- ["), ["flow"], "not valid YAML"),
        (NewTest("t", ("scroll",), flow="- back"), ["flow"], "either steps or a flow"),
        (NewTest(flow="- back"), ["name"], "the flow has no name either"),
        (NewTest(), ["name", "steps"], "Field required"),
        (NewTest("t", ("back", {"appId": "a"})), ["steps[1]"], "must be the first entry"),
    ],
)
async def test_a_flow_that_cannot_be_read_is_refused_with_its_place(
    catalog: Catalog, new: NewTest, fields: list[str], message: str
) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        await catalog.tests.create(new)
    assert [violation.field for violation in refusal.value.violations] == fields
    assert message in refusal.value.violations[0].message

"""Each flow of the battery does here what it does in Maestro, or differs as a row of docs/maestro.md says."""

import os
import re
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.maestro.battery import Section, command_sections, sections
from tests.maestro.generator import generated
from tests.maestro.judge import ours
from tests.maestro.judge.comparison import difference, plain_actions
from tests.maestro.judge.flows import JudgedFlow, Outcome
from tests.maestro.judge.maestro import judge, why_unavailable

SECTIONS = (*sections(), *command_sections(), *generated(300, seed=1))

Judged: TypeAlias = dict[str, tuple[JudgedFlow, Outcome]]


@pytest.fixture(scope="session")
def judged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """The selected flows with their outcomes in Maestro, which runs once for all of them."""
    if why := why_unavailable():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(why)
    parameters = (item.callspec.params for item in request.session.items if hasattr(item, "callspec"))
    selected = [each["section"] for each in parameters if "section" in each]
    folder = tmp_path_factory.mktemp("flows")
    flows = [section.write(folder) for section in selected]
    outcomes = judge(flows, tmp_path_factory.mktemp("written"))
    return {flow.id: (flow, outcomes[flow.id]) for flow in flows}


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.id)
async def test_flow_does_what_it_does_in_maestro(judged: Judged, section: Section) -> None:
    flow, maestro = judged[section.id]
    here = await ours.run(flow)
    differs = difference(flow, maestro, here)
    if not section.differs:
        assert differs == ""
    else:
        assert differs, f"it no longer differs: remove differs:{section.differs}"
        assert section.here in ("", _describe(here))


def test_rows_of_differences_are_those_that_flows_have() -> None:
    page = (Path(__file__).parents[2] / "docs" / "maestro.md").read_text()
    table = page.partition("## Different on purpose")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([a-z][a-z-]*) \|", table, re.MULTILINE)
    assert sorted(rows) == sorted({section.differs for section in SECTIONS} - {""})


def _describe(outcome: Outcome) -> str:
    """As sections write it."""
    actions = (" ".join(map(str, action)) for action in plain_actions(outcome.actions))
    return "; ".join((outcome.verdict, *actions))

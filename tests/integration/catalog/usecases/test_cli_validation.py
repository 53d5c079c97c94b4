"""Folders are checked as the server checks them, and problems are shown where they are."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from mobiletest_automation.flows.workspace_config import Remark
from mobiletest_cli.validation import NOTICE, Problem, validate
from mobiletest_cli.workspace import find_files
from services.catalog.usecases.imports import NewImport
from services.chassis.errors import InvalidArgument
from tests.fakes.workspaces import FLOW
from tests.integration.catalog.usecases.conftest import Catalog
from tests.unit.cli.test_workspace import write

pytestmark = pytest.mark.asyncio(loop_scope="session")

SAMPLES = Path(__file__).parents[3] / "unit" / "automation" / "flows" / "workspaces"
WRONG = "appId: a\n---\n- launchApp\n- tapOnn: Go\n"
FOLDERS: dict[str, Mapping[str, str | bytes]] = {
    "no problems": {"a.yaml": FLOW},
    "several in one flow": {"a.yaml": WRONG + "- swipe: {direction: sideways}\n- assertVisible: {}\n"},
    "syntax": {"a.yaml": "appId: a\n---\n- tapOn: [x\n", "b.yaml": "- tapOn: &x 1\n- tapOn: *x\n"},
    "in a part": {
        "a.yaml": "- runFlow: p/x.yaml",
        "b.yaml": "- runFlow: p/x.yaml",
        "p/x.yaml": "- back\n- tapOnn: x\n",
    },
    "missing files": {"a.yaml": "- runFlow: b.yml\n- runScript: x.js\n- addMedia: [cat.png]\n", "b.yaml": FLOW},
    "files of other kinds": {"a.yaml": "- addMedia: [cat.png]\n", "cat.png": b"no picture"},
    "labels": {
        f"{'x' * 201}.yaml": FLOW,
        "tag.yaml": "tags: ['']\n---\n- back\n",
        "n.yaml": 'name: "a\\eb"\n---\n- back',
    },
    "no text": {"a.yaml": b"- tapOn: \xff", "b.yaml": FLOW + "#" * 1024**2},
    "long": {"a.yaml": FLOW + "#" * 300_000},
    "byte order mark": {"a.yaml": "\ufeff" + WRONG},
    "folder around": {"w/config.yaml": "flows: ['*', b/*]\ncolour: red\n", "w/a.yaml": WRONG, "w/b/c.yaml": WRONG},
    "tags": {"config.yaml": "includeTags: [smoke]", "a.yaml": WRONG, "b.yaml": "tags: [smoke]\n---\n- tapOnn: x\n"},
    "order and names": {
        "config.yaml": "executionOrder: {flowsOrder: [A, x]}",
        "a.yaml": "name: A\n---\n- back",
        "b.yaml": "name: A\n---\n- back",
    },
}
REFUSED: dict[str, Mapping[str, str | bytes]] = {
    "wrong configuration": {"config.yaml": "flows: '{a'\n", "a.yaml": FLOW},
    "unreadable configuration": {"config.yaml": "flows: [", "a.yaml": FLOW},
    "no flow at the top": {"a/x.yaml": FLOW, "b/y.yaml": FLOW},
    "no file fits": {"config.yaml": "flows: tests/*\n", "a.yaml": FLOW},
    "steps too large": {f"{number:02}.yaml": f"- inputText: {'x' * 9_000}\n" * 20 for number in range(50)},
}


async def answer(catalog: Catalog, folder: Path) -> set[Problem] | str:
    """What the server says of a folder: its problems and notices, or why it refuses the folder as a whole."""

    async def chunks() -> AsyncIterator[bytes]:
        yield find_files([folder]).archive

    try:
        report = await catalog.imports.run(NewImport("w"), catalog.arriving(chunks()))
    except InvalidArgument as refused:
        return refused.violations[0].message
    errors = {_problem(remark) for _, remarks in report.refused for remark in remarks}
    return errors | {_problem(remark, NOTICE) for remark in report.notices}


def _problem(remark: Remark, severity: str = "error") -> Problem:
    return Problem(remark.file, remark.line, remark.column, remark.message, severity)


def sentence(problem: Problem) -> str:
    where = f"{problem.file}, line {problem.line}, column {problem.column}: " if problem.line else ""
    return where + problem.message


async def assert_same(catalog: Catalog, folder: Path) -> None:
    problems, said = validate(find_files([folder])), await answer(catalog, folder)
    assert len(problems) == len(set(problems))
    assert set(problems) == said


@pytest.mark.parametrize("name", ["both", "notes", "web-shop"])
async def test_samples_have_the_problems_that_the_server_finds(catalog: Catalog, name: str) -> None:
    await assert_same(catalog, SAMPLES / name)


@pytest.mark.parametrize("name", FOLDERS)
async def test_folder_has_the_problems_that_the_server_finds(catalog: Catalog, tmp_path: Path, name: str) -> None:
    folder = write(tmp_path / "folder", FOLDERS[name])
    await assert_same(catalog, folder)
    assert bool(validate(find_files([folder]))) == (name != "no problems")


@pytest.mark.parametrize("name", REFUSED)
async def test_folder_is_refused_as_the_server_refuses_it(catalog: Catalog, tmp_path: Path, name: str) -> None:
    folder = write(tmp_path / "folder", REFUSED[name])
    (problem,) = validate(find_files([folder]))
    assert sentence(problem) == await answer(catalog, folder)

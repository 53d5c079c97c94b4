"""The shell blocks of the README and the pages, run against the stack: each prints what the document shows."""

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.documents import ROOT, blocks_of, check_blocks, pages, runnable_blocks
from tests.e2e.cli.conftest import INHERITED
from tests.e2e.client import Api, created
from tests.e2e.conftest import fresh_key
from tests.e2e.test_gate import gate_of
from tests.e2e.test_human_in_the_loop import asked, started
from tests.e2e.world import FAILING, PASSING, World, paced_app_model
from tests.fakes.artifacts import apk
from tests.shared_infrastructure import SharedStack

# Names that a block uses, such as TEST, and their values.
Names = Mapping[str, str]
ONCE = {"execution_mode": {"retries": 0}}
# Pages that make what their blocks use.
WHOLE = {"README.md": "## Five calls", "docs/tour.md": "# A tour"}
# A block fails with a request that is refused.
STRICT = """
curl() { command curl --fail-with-body --silent --show-error "$@"; }
mobiletest() { "$PYTHON" -m mobiletest_cli "$@"; }
python() { "$PYTHON" "$@"; }
"""


@pytest.mark.parametrize(("name", "heading"), WHOLE.items())
async def test_every_block_prints_what_the_document_shows(
    name: str, heading: str, stack: SharedStack, tmp_path: Path
) -> None:
    blocks = blocks_of(name, heading)
    assert len(blocks) >= 5
    key = await fresh_key(stack, "bootstrap")
    await check_blocks(blocks, ready=_ready(stack, key), folder=tmp_path)


def _ready(stack: SharedStack, key: str) -> dict[str, object]:
    """What `make run` writes for other programs."""
    return {"url": stack.url, "api_key": key, "grpc": stack.grpc, "grpc_token": stack.grpc_token}


async def _variables(world: World, _: Path) -> Sequence[Names]:
    test = await world.test()
    return [{"TEST": test["id"], "WORKFLOW": (await world.workflow(test))["id"]}]


async def _question(world: World, _: Path) -> Sequence[Names]:
    execution = await started(world)
    return [{"EXECUTION": execution, "RUN": (await asked(world.api, execution))["id"]}]


async def _baseline(world: World, _: Path) -> Sequence[Names]:
    """A run that failed because there is no baseline, which has a key when the first block has accepted the picture."""
    app = await world.app()
    await world.build(app, "1.0.0")
    test = await world.test(["launchApp", {"assertScreenshot": "home"}], app=app)
    run = await world.only_run(await world.run(await world.workflow(test), run_config=ONCE))
    [name] = [each["name"] for each in run["attempts"][0]["artifacts"] if each["name"].endswith("-actual.png")]
    key = "$(call $URL/tests/$TEST/baselines | get \"document['items'][0]['key']\")"
    return [{"EXECUTION": run["execution_id"], "RUN": run["id"], "NAME": name}, {"TEST": test["id"], "BASELINE": key}]


async def _broken_test(world: World, _: Path) -> Sequence[Names]:
    app = await world.app()
    build = await world.build(app, "1.0.0")
    test = await world.test(["launchApp", 'Tap "Basket"'], app=app, name="Open the basket")
    await world.run(await world.workflow(test), run_config={"execution_mode": {"retries": 3}})
    await world.reported(build, 1)
    return [{"TEST": test["id"]}]


async def _pull_request(world: World, _: Path) -> Sequence[Names]:
    """The story of the page: "Search" broke on main, and "Pay" in a pull request, which then repairs both."""
    app = await world.app(name="Shop")
    pay, search = [await world.test(PASSING, name=name, app=app) for name in ("Pay", "Search")]
    workflow = await world.workflow(pay, search, run_config=ONCE)
    executions = []
    for version, branch, commit, failing in (
        ("1.0.0", "main", "4f2c1d9", ()),
        ("1.1.0", "main", "9be07a1", (search,)),
        ("1.2.0-pr7", "pay-by-card", "c0a41f6", (pay, search)),
        ("1.2.0", "pay-by-card", "ab12cd3", ()),
    ):
        created(await world.api.upload(app["id"], paced_app_model(seconds=0), version=version))
        for test in (pay, search):
            created(await world.api.patch(f"/tests/{test['id']}", {"steps": FAILING if test in failing else PASSING}))
        headers = {"X-CI-System": "ci", "X-CI-Branch": branch, "X-CI-Commit-SHA": commit}
        executions.append(await world.ended((await world.start(workflow, headers=headers))["id"]))
        await gate_of(world.api, executions[-1])
    return [{"EXECUTION": executions[2]["id"]}, {"EXECUTION": executions[3]["id"]}]


async def _folder(world: World, folder: Path) -> Sequence[Names]:
    (folder / ".maestro").mkdir()
    (folder / ".maestro" / "log-in.yaml").write_text("appId: com.example.shop\n---\n- launchApp\n")
    app = await world.app()
    await world.build(app, "1.0.0")
    return [{"TEST": (await world.test(app=app))["id"]}]


async def _project(world: World, folder: Path) -> Sequence[Names]:
    await _folder(world, folder)
    flow = "appId: com.example.shop\n---\n- launchApp\n- assertVisible: Email\n- tapOn: Email\n"
    (folder / ".maestro" / "log-in.yaml").write_text(flow)
    (folder / "build").mkdir()
    (folder / "build" / "app.apk").write_bytes(apk(version="1.0"))
    return []


async def _app_file(_: World, folder: Path) -> Sequence[Names]:
    (folder / "app.apk").write_bytes(apk(version="1.0"))
    return []


async def _organisation(world: World, _: Path) -> Sequence[Names]:
    return [{"ORG_ID": (await world.app())["org_id"]}] * 2


async def _internal_caller(world: World, _: Path) -> Sequence[Names]:
    app = await world.app(name="Shop")
    await world.build(app, "1.0.0")
    organisation = {"ORG_ID": app["org_id"]}
    workflow = await world.workflow(await world.test(app=app))
    return [organisation, {**organisation, "WORKFLOW": workflow["id"]}, organisation]


# What there has to be before the blocks of a page, and the names that each of them uses.
WORLDS: dict[str, Callable[[World, Path], Awaitable[Sequence[Names]]]] = {
    "docs/command-line.md": _project,
    "docs/commands.md": _baseline,
    "docs/gate.md": _pull_request,
    "docs/grpc-callers.md": _internal_caller,
    "docs/human-in-the-loop.md": _question,
    "docs/limits.md": _organisation,
    "docs/quarantine.md": _broken_test,
    "docs/rest-clients.md": _app_file,
    "docs/variables.md": _variables,
    "docs/workspaces.md": _folder,
}


@pytest.mark.parametrize("page", pages())
async def test_every_other_shell_block_runs_as_written(page: str, stack: SharedStack, tmp_path: Path) -> None:
    blocks = [] if page in WHOLE else runnable_blocks(page)
    assert bool(blocks) == (page in WORLDS), "say in WORLDS what its blocks need, or in ELSEWHERE why they do not run"
    if not blocks:
        return
    key = await fresh_key(stack, "bootstrap")
    async with Api(stack.url, key) as api:
        names = await WORLDS[page](World(api), tmp_path)
    prelude = [*blocks_of("docs/tour.md", "# A tour")[:1]]
    named = [
        ("".join(f'{name}="{value}"\n' for name, value in given.items()) + script, shown)
        for (script, shown), given in zip_longest(blocks, names, fillvalue={})
    ]
    environ = {
        "PYTHON": sys.executable,
        "PYTHONPATH": f"{ROOT}:{ROOT / 'gen'}:{ROOT / 'cli'}",
        "MOBILETEST_URL": stack.url,
        "MOBILETEST_API_KEY": key,
        "MOBILETEST_MONGO_URI": stack.mongo_uri,
        "MOBILETEST_CALLERS": f"gateway={'0' * 64}",
    }
    await check_blocks(
        [*prelude, *named],
        ready=_ready(stack, key),
        folder=tmp_path,
        prelude=STRICT,
        environ=INHERITED | environ,
    )

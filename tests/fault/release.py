"""The state folder of the last release: `make release-state` records it, the upgrade test starts this tree on it."""

import asyncio
import json
import tarfile
from pathlib import Path
from typing import Any

from deploy.local.commands import load_examples
from deploy.local.stack import Stack, run_stack
from tests.e2e.client import Api, created
from tests.infrastructure import PATIENT, server_folder

ARCHIVE = Path(__file__).with_name("release.tar.xz")
ANSWERS = "answers.json"
KEPT = ("mongod", "objects", "tokens", "organisation.json", ANSWERS)
# The state grows old: nothing in it may expire. Nothing may be missing from an answer because the machine is busy.
ENVIRONMENT = {"MOBILETEST_ARTIFACT_DAYS": "0", **PATIENT}
# What is said of the last days, and of the caller.
WINDOWED = frozenset(("recent_executions", "rolling_pass_rate", "execution_trend", "last_used_at"))


async def ask(stack: Stack) -> dict[str, Any]:
    """What the API says of everything that is stored, by path."""
    answers: dict[str, Any] = {}
    async with Api(stack.url, stack.api_key) as api:

        async def get(path: str, **query: int) -> Any:
            answers[path] = _without_windows(created(await api.get(path, params=query)))
            return answers[path].get("items", [])

        for app in await get("/apps"):
            for report in ("", "/workspace", "/test_matrix", "/coverage", "/tests"):
                await get(f"/apps/{app['id']}{report}")
            for build in await get(f"/apps/{app['id']}/builds"):
                await get(f"/apps/builds/{build['id']}/runs", page_size=100)
        for test in await get("/tests"):
            await get(f"/tests/{test['id']}")
            await get(f"/tests/{test['id']}/versions")
        await get("/workflows")
        for execution in await get("/executions"):
            await get(f"/executions/{execution['id']}")
            for run in await get(f"/executions/{execution['id']}/runs"):
                await get(f"/executions/{execution['id']}/runs/{run['id']}")
    return answers


def _without_windows(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {name: _without_windows(value) for name, value in answer.items() if name not in WINDOWED}
    return [_without_windows(value) for value in answer] if isinstance(answer, list) else answer


def differences(old: Any, new: Any, path: str = "") -> list[str]:
    """Where the new answer lacks or changes something of the old one; new fields are none."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [line for name in old for line in differences(old[name], new.get(name, "nothing"), f"{path}.{name}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [line for number, (was, now) in pairs for line in differences(was, now, f"{path}[{number}]")]
    return [] if old == new else [f"{path}: {old!r} became {new!r}"]


def unpack(folder: Path) -> dict[str, Any]:
    """Put the state into a folder; the answers of the release that wrote it."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    answers: dict[str, Any] = json.loads((folder / ANSWERS).read_text())
    return answers


async def record() -> None:
    """Write the archive: the state after the example workspace has run."""
    with server_folder() as folder:
        async with run_stack(folder, extra_env=ENVIRONMENT) as stack:
            await load_examples(stack.url, stack.api_key)
            (folder / ANSWERS).write_text(json.dumps(await ask(stack)))
        with tarfile.open(ARCHIVE, "w:xz") as archive:
            for name in KEPT:
                archive.add(folder / name, name)


if __name__ == "__main__":
    asyncio.run(record())

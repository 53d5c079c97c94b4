"""schemathesis against a stack of its own: nothing that the document does not say, and no error of the server."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from deploy.local.stack import run_stack
from tests.e2e.client import Api, created
from tests.e2e.world import World

CONFIG = Path(__file__).with_name("schemathesis.toml")
# The maximum of each operation in the phases `fuzzing` and `stateful`; the other phases know themselves.
EXAMPLES = os.environ.get("MOBILETEST_API_EXAMPLES", "5")
SEED = os.environ.get("MOBILETEST_API_SEED", "1")
CASES = 2000
RATES = (
    "organisation_requests_per_second",
    "organisation_request_burst",
    "key_requests_per_second",
    "key_request_burst",
)
UNLIMITED = {f"MOBILETEST_{name.upper()}": "1000000" for name in (*RATES, "organisation_apps")}


@pytest.mark.timeout(7200)
async def test_the_service_does_what_its_document_says(tmp_path: Path) -> None:
    async with run_stack(tmp_path / "state", extra_env=UNLIMITED) as stack, Api(stack.url, stack.api_key) as api:
        config = write_config(tmp_path, await make_resources(World(api)))
        code, output = await run_schemathesis(stack.url, stack.api_key, config)
        still_valid = (await api.get("/apps")).status == 200
    assert code == 0, output
    assert still_valid, "the suite has lost its API key"
    report = json.loads((tmp_path / "report.json").read_text())
    assert {phase: outcome["status"] for phase, outcome in report["phases"].items()} == dict.fromkeys(
        ("examples", "coverage", "fuzzing", "stateful"), "success"
    )
    assert report["test_cases"]["generated"] >= CASES, report["test_cases"]


async def make_resources(world: World) -> dict[str, Any]:
    """One of everything: parameters of paths, and the ids for them."""
    app, build, test, workflow = await world.passing_app()
    execution = await world.run(workflow)
    (run,) = created(await world.api.get(f"/executions/{execution['id']}/runs"))["items"]
    made = {"app": app, "version": build, "test": test, "workflow": workflow, "execution": execution, "run": run}
    return {f"{name}_id": resource["id"] for name, resource in made.items()}


def write_config(folder: Path, ids: dict[str, Any]) -> Path:
    config = folder / CONFIG.name
    dictionaries = (f'\n[dictionaries.{name}]\nvalues = ["{value}"]\n' for name, value in ids.items())
    config.write_text(CONFIG.read_text() + "".join(dictionaries))
    return config


async def run_schemathesis(url: str, key: str, config: Path) -> tuple[int | None, str]:
    """Its exit code, and the end of what it prints."""
    arguments = (
        *("--config-file", config, "run", f"{url}/api/v1/openapi.json", "--url", url, "--seed", SEED),
        *("--max-examples", EXAMPLES, "--continue-on-failure", "--no-shrink", "--suppress-health-check", "all"),
        *("--warnings", "off", "--no-color", "--report", "json", "--report-json-path", config.with_name("report.json")),
        *("--header", f"Authorization: Bearer {key}"),
    )
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("schemathesis")),
        *map(str, arguments),
        cwd=config.parent,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    text = output.decode()
    print(text[text.rfind("= SUMMARY =") :])
    return process.returncode, text[-20_000:]

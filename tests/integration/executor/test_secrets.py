"""A canary: the value of a secret variable is nowhere but in the stored test."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from mobiletest.executor.v1 import executions_pb2 as pb
from pymongo import MongoClient

from tests.fakes.llm import FakeEndpoint, call
from tests.integration.executor.catalog_server import Shelf

CANARY = "canary-7f3a9"
# Where tests are stored as they were written.
DEFINITIONS = ("plans",)


def steps_with(name: str, **env: str) -> list[Any]:
    """They use a variable; `env` is that of the flow."""
    return [
        {"appId": "com.example.demo", "env": env},
        "launchApp",
        {"tapOn": "Email"},
        {"inputText": f"${{{name}}}"},
        f"Carefully put ${{{name}}} where it belongs",
        {"assertVisible": f"never ${{{name}}}"},
    ]


@pytest.mark.parametrize("source", ["flow", "test", "secret"])
async def test_a_secret_variable_is_in_nothing_that_a_run_leaves(
    source: str,
    executor: Any,
    connect: Any,
    shelf: Shelf,
    mongo_client: MongoClient[dict[str, Any]],
    mongo_database: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Not in the run, its events, JUnit, artifacts, prompts, caches and logs; the model types it all the same."""
    shelf.secrets["staging"] = CANARY
    name, planned = {
        "flow": ("PASSWORD", shelf.planned(*steps_with("PASSWORD", PASSWORD=CANARY))),
        "test": ("PASSWORD", shelf.planned(*steps_with("PASSWORD"), env={"PASSWORD": CANARY})),
        "secret": ("LOGIN", shelf.planned(*steps_with("LOGIN"), env={"LOGIN": {"secret": "staging"}})),
    }[source]
    shown, definitions = f"${{{name}}}", () if source == "secret" else DEFINITIONS
    workflow_id = shelf.workflow(planned)
    asked_to_type = call("type", element=2, text=shown)
    async with FakeEndpoint([asked_to_type, call("done", why=f"typed {shown}")]).serving() as endpoint:
        models = {"llm_base_url": endpoint.url, "llm_primary_model": "small", "step_timeout_seconds": 1.0}
        async with executor(**models) as app, connect(app.grpc_address) as client:
            execution_id = await client.start(workflow_id)
            execution = await client.ended(execution_id)
            runs = await client.runs(execution_id)
            junit = await client.stub.GetJUnit(pb.GetJUnitRequest(execution_id=execution_id))
    steps = runs[0].attempts[0].steps
    assert [step.text for step in steps][3] == f"Carefully put {shown} where it belongs"
    assert execution.failure.message
    assert junit.content_type == "application/xml"
    left = {
        "run": str((execution, runs)),
        "junit": junit.data.decode(),
        "prompts": json.dumps(endpoint.asked),
        "artifacts": _files(tmp_path),
        "log": "".join(capfd.readouterr()),
        "documents": _documents(mongo_client, mongo_database, definitions),
    }
    assert [name for name, text in left.items() if CANARY in text] == []
    assert shown in left["prompts"]
    assert "tree" in left["artifacts"]


def _files(folder: Path) -> str:
    return "\n".join(f"{path} {path.read_bytes()!r}" for path in folder.rglob("*") if path.is_file())


def _documents(client: MongoClient[dict[str, Any]], database: str, without: Collection[str]) -> str:
    names = [name for name in client[database].list_collection_names() if name not in without]
    return "\n".join(str(document) for name in names for document in client[database][name].find())

"""Every block of the README and the pages is run by a test, or read as what it is, or has a reason why not."""

import json
from pathlib import Path

import pytest
import yaml
from google.protobuf.descriptor import Descriptor
from google.protobuf.json_format import ParseDict
from mobiletest.executor.v1 import runs_pb2, steps_pb2
from mobiletest.types.v1.run_config_pb2 import RunConfig

from mobiletest_automation.devices.simulated.model_file import read_model
from mobiletest_automation.flows.workspace_files import read_manifest
from mobiletest_cli.configuration import parse_project
from tests.documents import ELSEWHERE, all_blocks, block, is_elsewhere, pages


@pytest.mark.parametrize("page", pages())
def test_every_block_is_run_or_has_a_reason(page: str) -> None:
    """A block without a language is what the shell block before it prints."""
    unknown, before = [], ""
    for language, text in all_blocks(page):
        is_output = not language and before == "sh"
        if language != "sh" and not is_output and not is_elsewhere(page, text):
            unknown.append(text)
        before = language
    assert unknown == []


def test_reasons_are_of_blocks_that_exist() -> None:
    for page, beginning in ELSEWHERE:
        assert block(page, beginning)


def test_the_app_model_and_the_project_file_can_be_read() -> None:
    assert len(read_model(block("docs/app-models.md", "app_model: 1")).screens) == 2
    project = parse_project(Path("mobiletest.yaml"), block("docs/command-line.md", "app: Shop").encode())
    assert (project.app, project.timeout, project.base_branch) == ("Shop", 1800, "main")


@pytest.mark.parametrize(
    ("page", "beginning", "message", "path"),
    [
        ("docs/human-in-the-loop.md", '{"question"', runs_pb2.Question.DESCRIPTOR, "question"),
        ("docs/steps.md", '{"action"', steps_pb2.ResolveStepResponse.DESCRIPTOR, ""),
    ],
)
def test_answers_have_the_fields_that_are_shown(page: str, beginning: str, message: Descriptor, path: str) -> None:
    shown = json.loads(block(page, beginning))
    assert set(shown[path] if path else shown) <= set(message.fields_by_name)


def test_other_documents_are_what_they_are_said_to_be() -> None:
    assert yaml.safe_load(block("docs/devices.md", "apiVersion: networking"))["kind"] == "NetworkPolicy"
    run_config = yaml.safe_load(block("docs/evidence.md", "run_config:"))["run_config"]
    assert ParseDict(run_config, RunConfig()).dismiss_dialogs.permission
    server = json.loads(block("docs/command-line.md", '{"mcpServers"'))["mcpServers"]["mobiletest"]
    assert (server["command"], server["args"][0]) == ("mobiletest", "mcp")
    assert read_manifest(block("docs/workspaces.md", '{"root"').encode()).flows == ("account/login.yaml",)

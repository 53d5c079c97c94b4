"""The commands that the stack runs in child processes."""

from pathlib import Path

import pytest

from deploy.local import commands
from deploy.local.layout import Layout, python_path
from deploy.local.ports import Ports


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """The services are stand-ins; `republish` notes its calls, two for each service, in the file `republished`."""
    shared = {"MOBILETEST_ARTIFACT_SPOOL": str(tmp_path / "spool"), "PYTHONPATH": python_path()}
    return Layout("", {}, shared, {"executor-api": "t" * 32}, "tests.fakes.local", Ports())


async def test_republish_may_take_longer_than_other_commands(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An outbox retains 7 days: with a short limit a stack with a long history would not start again."""
    monkeypatch.setattr(commands, "_TIMEOUT_SECONDS", 0.001)
    await commands.republish(layout)
    assert sorted((tmp_path / "republished").read_text().split()) == ["catalog"] * 2 + ["executor"] * 2
    with pytest.raises(commands.CommandFailed, match=r"tests\.fakes\.local\.catalog bootstrap .*: not done within"):
        await commands.new_organisation("Local", layout)

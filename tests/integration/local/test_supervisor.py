"""Children that die again and again."""

import sys
from pathlib import Path
from typing import cast

import pytest

from deploy.local.child import Child, ChildDied, ChildSpec
from deploy.local.commands import CommandFailed
from deploy.local.stack import Stack
from deploy.local.supervisor import MOST_DEATHS, keep_alive


class Part:
    """A child process without a server."""

    def __init__(self, name: str, program: str, log: Path) -> None:
        self.child = Child(ChildSpec(name, [sys.executable, "-c", program], log))


class FewParts:
    """The part of a stack that its supervisor uses; `failures` are raised by the first restarts."""

    def __init__(self, *parts: Part, failures: list[Exception]) -> None:
        self.parts = {part.child.name: part for part in parts}
        self.restarts = 0
        self._failures = failures
        for part in parts:
            part.child.start()

    async def restart(self, name: str) -> None:
        self.restarts += 1
        if self._failures:
            raise self._failures.pop(0)
        self.parts[name].child.start()


async def test_it_gives_up_with_the_last_log_lines_after_five_deaths_in_a_minute(tmp_path: Path) -> None:
    stack = FewParts(Part("broken", "raise SystemExit('no disk')", tmp_path / "broken.log"), failures=[])
    lines: list[str] = []
    with pytest.raises(ChildDied, match=r"5 times within 60 s: broken ended with exit code 1\n    no disk"):
        await keep_alive(cast(Stack, stack), lines.append, pause=0.01)
    assert stack.restarts == MOST_DEATHS - 1
    assert [line.split(":")[0] for line in lines] == ["broken ended with exit code 1"] * (MOST_DEATHS - 1)
    assert [line.rpartition(" in ")[2] for line in lines] == ["0.01 s", "0.02 s", "0.04 s", "0.08 s"]


async def test_a_start_that_fails_is_tried_again(tmp_path: Path) -> None:
    """As when the events cannot be published again because mongod is down too."""
    failures: list[Exception] = [CommandFailed("republish: exit code 1\nno server"), ChildDied("x ended\n    log")]
    stack = FewParts(Part("x", "raise SystemExit(1)", tmp_path / "x.log"), failures=failures)
    lines: list[str] = []
    with pytest.raises(ChildDied):
        await keep_alive(cast(Stack, stack), lines.append, pause=0.01)
    dead = "x ended with exit code 1"
    assert [line.split(":")[0] for line in lines] == [dead, "republish", "x ended", dead]

"""Commands that the stack runs in child processes: bootstrap, republish, and the example loader."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from deploy.local.child import die_with_parent, run_together
from deploy.local.layout import Layout, python_path
from deploy.local.state import Organisation

_TIMEOUT_SECONDS = 60.0
# An outbox may retain millions of events. Without the broker the command ends by itself, much earlier.
_REPUBLISH_SECONDS = 1800.0
_OVERLAP = timedelta(seconds=5)
_WITH_OUTBOX = ("catalog", "executor")


class CommandFailed(Exception):
    """A command of a service failed; the message has what it wrote to stderr."""


class ExamplesFailed(Exception):
    """The example loader ended with an error, which it has printed."""


async def new_organisation(name: str, layout: Layout) -> Organisation:
    """Create an organisation with its first API key, by the catalog's `bootstrap`."""
    output = await _run_command(layout, "catalog", "bootstrap", "--name", name)
    answer = json.loads(output.strip().splitlines()[-1])
    return Organisation(answer["org_id"], answer["api_key"])


async def republish(layout: Layout) -> None:
    """Publish again what the outboxes retain: an embedded broker keeps its topics in memory and starts without them.

    Then what services have published meanwhile: of records that reach a partition at the same time from two producers,
    Tansu may lose some that it has acknowledged.
    """
    since = (datetime.now(UTC) - _OVERLAP).isoformat()
    for arguments in ((), ("--since", since)):
        commands = [
            _run_command(layout, service, "republish", *arguments, within=_REPUBLISH_SECONDS)
            for service in _WITH_OUTBOX
        ]
        await run_together(*commands)


async def load_examples(url: str, api_key: str) -> None:
    """Run `examples.load`, which prints a table of verdicts.

    Raises:
        ExamplesFailed: it does not succeed.
    """
    env = {"MOBILETEST_URL": url, "MOBILETEST_API_KEY": api_key, "PYTHONPATH": python_path()}
    code, _, _ = await _run(["examples.load"], env)
    if code != 0:
        raise ExamplesFailed(f"the example loader ended with exit code {code}")


async def _run_command(layout: Layout, service: str, *arguments: str, within: float | None = None) -> str:
    """What a one-off command of a service wrote to stdout, in the environment that the services have."""
    argv = [f"{layout.package}.{service}", *arguments]
    seconds = within or _TIMEOUT_SECONDS
    try:
        async with asyncio.timeout(seconds):
            code, output, errors = await _run(argv, {**layout.shared, **layout.token("executor-api")}, pipe=PIPE)
    except TimeoutError:
        raise CommandFailed(f"{' '.join(argv)}: not done within {seconds:.0f} s") from None
    if code != 0:
        raise CommandFailed(f"{' '.join(argv)}: exit code {code}\n{errors}")
    return output


async def _run(argv: list[str], env: Mapping[str, str], pipe: int | None = None) -> tuple[int | None, str, str]:
    """Run a module in a child process, killed when this task is cancelled; exit code, stdout and stderr."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        *argv,
        env={**os.environ, **env},
        stdout=pipe,
        stderr=pipe,
        preexec_fn=die_with_parent(),
    )
    try:
        output, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, (output or b"").decode(), (errors or b"").decode()

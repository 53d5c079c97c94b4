"""Makes an organisation with a first API key, through the catalog's command line."""

import asyncio
import json
import os
import sys

from deploy.local.child import die_with_parent
from deploy.local.layout import Layout, python_path
from deploy.local.state import Organisation

_PATIENCE_SECONDS = 60.0


class BootstrapFailed(Exception):
    """The catalog made no organisation; the message has what it said."""


async def new_organisation(name: str, layout: Layout) -> Organisation:
    """Run the catalog's `bootstrap` in the environment that the services have and read its answer."""
    argv = [sys.executable, "-m", f"{layout.package}.catalog", "bootstrap", "--name", name]
    process = await asyncio.create_subprocess_exec(
        *argv,
        env={**os.environ, **layout.shared},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        preexec_fn=die_with_parent(),
    )
    try:
        output, errors = await asyncio.wait_for(process.communicate(), _PATIENCE_SECONDS)
    except TimeoutError:
        raise BootstrapFailed(f"bootstrap did not end within {_PATIENCE_SECONDS:.0f} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise BootstrapFailed(f"bootstrap ended with exit code {process.returncode}\n{errors.decode()}")
    answer = json.loads(output.decode().strip().splitlines()[-1])
    return Organisation(answer["org_id"], answer["api_key"])


class ExamplesFailed(Exception):
    """The example loader ended with an error, which it has printed."""


async def load_examples(url: str, api_key: str) -> None:
    """Run `examples.load`, which prints a table of verdicts. ExamplesFailed if it does not succeed."""
    env = {"MOBILETEST_URL": url, "MOBILETEST_API_KEY": api_key, "PYTHONPATH": python_path()}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "examples.load", env={**os.environ, **env}, preexec_fn=die_with_parent()
    )
    try:
        code = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if code != 0:
        raise ExamplesFailed(f"the example loader ended with exit code {code}")

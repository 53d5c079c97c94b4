"""Loads the example workspace into a running stack, through its public API."""

import asyncio
import os
import sys

from deploy.local.child import die_with_parent
from deploy.local.layout import python_path


class ExamplesFailed(Exception):
    """The example loader ended with an error, which it has printed."""


async def load(url: str, api_key: str) -> None:
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

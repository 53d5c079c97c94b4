"""The command `run`: start the stack, print its addresses, load the examples, serve while all children live."""

import asyncio
import sys
from collections.abc import Coroutine

from deploy.local.binaries import BinaryMissing
from deploy.local.child import ChildDied
from deploy.local.commands import CommandFailed, ExamplesFailed, load_examples
from deploy.local.settings import StackSettings
from deploy.local.stack import Stack, run_stack
from deploy.local.state import AlreadyRunning

_WATCH_SECONDS = 0.2
_EXPECTED = (AlreadyRunning, BinaryMissing, CommandFailed, ChildDied, TimeoutError)


async def serve(settings: StackSettings, *, examples: bool, once: bool) -> int:
    """Run the stack until it is cancelled or a child dies; with `once`, stop after the examples. Return the exit code.

    `examples`: load the example workspace and run its workflow.
    """
    _print(f"starting mobiletest on {settings.state_dir}")
    try:
        async with run_stack(
            settings.state_dir,
            port=settings.port,
            workers=settings.workers,
            mongo_uri=settings.mongo_uri,
            kafka_bootstrap=settings.kafka_bootstrap,
            package=settings.package,
        ) as stack:
            _print_addresses(stack, settings)
            return await _run_while_alive(stack, _work(stack, examples=examples, once=once))
    except _EXPECTED as error:
        return _report_failure(error)


async def _work(stack: Stack, *, examples: bool, once: bool) -> int:
    code = await _load_examples(stack) if examples else 0
    if not once:
        _print("serving until Ctrl-C")
        await asyncio.Event().wait()
    return code


async def _load_examples(stack: Stack) -> int:
    try:
        await load_examples(stack.url, stack.api_key)
    except ExamplesFailed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


async def _run_while_alive(stack: Stack, work: Coroutine[None, None, int]) -> int:
    """Do the work as long as no child dies."""
    task = asyncio.create_task(work)
    try:
        while not task.done():
            stack.check()
            await asyncio.wait([task], timeout=_WATCH_SECONDS)
    except ChildDied as death:
        return _report_failure(death)
    finally:
        task.cancel()
        await asyncio.wait([task])
    return task.result()


def _report_failure(error: Exception) -> int:
    print(f"mobiletest failed: {error}", file=sys.stderr, flush=True)
    return 1


def _print_addresses(stack: Stack, settings: StackSettings) -> None:
    for name, part in stack.parts.items():
        _print(f"{name:<10} pid {part.child.pid:<8} {part.origin}")
    _print(f"API                {stack.url}")
    _print(f"address and key    {settings.state_dir / 'ready.json'}")
    _print(f"logs               {settings.state_dir / 'logs'}")


def _print(line: str) -> None:
    print(line, flush=True)

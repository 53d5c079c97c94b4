"""The command `run`: start the stack, print its addresses, load the examples, serve, and keep the children alive."""

import asyncio
import sys
from collections.abc import Coroutine

from deploy.local.binaries import BinaryMissing
from deploy.local.child import ChildDied
from deploy.local.commands import CommandFailed, ExamplesFailed, load_examples
from deploy.local.reload import reload_on_change
from deploy.local.settings import StackSettings
from deploy.local.stack import Stack, run_stack
from deploy.local.state import AlreadyRunning
from deploy.local.supervisor import keep_alive

_EXPECTED = (AlreadyRunning, BinaryMissing, CommandFailed, ChildDied, TimeoutError)


async def serve(settings: StackSettings, *, examples: bool, once: bool) -> int:
    """Run the stack until it is cancelled or a child dies too often; with `once`, stop after the examples. Return the
    exit code.

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
            without=settings.without,
            report=_print,
            package=settings.package,
        ) as stack:
            _print_addresses(stack, settings)
            return await _run_supervised(stack, _work(stack, examples=examples, once=once), reload=settings.reload)
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


async def _run_supervised(stack: Stack, work: Coroutine[None, None, int], *, reload: bool) -> int:
    """Do the work, and start dead children again meanwhile. ChildDied when one dies too often.

    `reload`: restart also the services whose files change.
    """
    task, watchers = asyncio.create_task(work), [asyncio.create_task(keep_alive(stack, _print))]
    if reload:
        watchers.append(asyncio.create_task(reload_on_change(stack, _print)))
    try:
        await asyncio.wait([task, *watchers], return_when=asyncio.FIRST_COMPLETED)
        for watcher in watchers:
            if watcher.done():
                watcher.result()
        return task.result()
    finally:
        for each in (task, *watchers):
            each.cancel()
        await asyncio.wait([task, *watchers])


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

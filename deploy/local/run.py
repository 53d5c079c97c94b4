"""The command `run`: start the stack, print its addresses, load the examples, serve, and keep the children alive."""

import asyncio
import sys
from collections.abc import Coroutine

from deploy.local.binaries import BinaryMissing
from deploy.local.child import ChildDied
from deploy.local.commands import CommandFailed, ExamplesFailed, load_examples
from deploy.local.ports import PortTaken
from deploy.local.reload import reload_on_change
from deploy.local.settings import StackSettings
from deploy.local.stack import Stack, run_stack
from deploy.local.state import AlreadyRunning, UnusableState, explain, full_disk
from deploy.local.supervisor import keep_alive

_EXPECTED = (AlreadyRunning, BinaryMissing, CommandFailed, ChildDied, PortTaken, UnusableState, TimeoutError)


async def serve(settings: StackSettings, *, once: bool) -> int:
    """Run the stack until it is cancelled or a child dies too often; with `once`, stop after the examples. Return the
    exit code.
    """
    _print(f"starting mobiletest on {settings.state_dir}")
    try:
        async with run_stack(
            settings.state_dir,
            port=settings.port,
            next_port=settings.next_port,
            workers=settings.workers,
            mongo_uri=settings.mongo_uri,
            kafka_bootstrap=settings.kafka_bootstrap,
            without=settings.without,
            report=_print,
            package=settings.package,
        ) as stack:
            _print_addresses(stack, settings)
            return await _run_supervised(
                stack, _work(stack, examples=settings.examples, once=once), reload=settings.reload
            )
    except _EXPECTED as error:
        return _report_failure(_cause(settings, error))
    except OSError as error:
        return _report_failure(explain(settings.state_dir, error))


def _cause(settings: StackSettings, error: Exception) -> Exception:
    """What is wrong, with what to do: processes that die because the disk is full say so nowhere else."""
    if isinstance(error, PortTaken):
        return PortTaken(f"{error}: stop that, or choose another port by MOBILETEST_PORT (0: any free one)")
    return full_disk(settings.state_dir) or error


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
    _print(f"dashboard and API  {stack.url}")
    _print(f"API key            in {settings.state_dir / 'ready.json'} (api_key): sign in to the dashboard with it")
    _print(f"logs               {settings.state_dir / 'logs'}")


def _print(line: str) -> None:
    print(line, flush=True)

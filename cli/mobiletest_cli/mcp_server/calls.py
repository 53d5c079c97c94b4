"""Runs the functions of tools in threads, few at once, with answers and errors that a terminal can show."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cached_property, partial, wraps
from typing import ParamSpec, TypeVar, cast

import anyio
import anyio.to_thread
from mcp.server.mcpserver.exceptions import ToolError

from mobiletest_automation.flows.printable import printable
from mobiletest_cli.errors import CliError
from mobiletest_cli.printable import printable_values

P = ParamSpec("P")
R = TypeVar("R")


class Calls:
    """Runs functions that wait for the network, at most `most` at once; others wait for their turn."""

    def __init__(self, most: int = 4) -> None:
        self._most = most

    def tool(self, function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
        """The function as a coroutine function with the same signature."""

        @wraps(function)
        async def call(*args: P.args, **kwargs: P.kwargs) -> R:
            return await self.run(function, *args, **kwargs)

        return call

    async def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What the function returns, with printable texts. A cancelled call leaves its thread to end by itself.

        ToolError instead of CliError: its message and what to do; of another error, what it is.
        """
        call = partial(function, *args, **kwargs)
        try:
            answer = await anyio.to_thread.run_sync(call, limiter=self._limiter, abandon_on_cancel=True)
        except CliError as error:
            raise ToolError(printable(f"{error.text}. {error.hint}" if error.hint else error.text)) from None
        except Exception as error:
            raise ToolError(printable(f"defect of mobiletest mcp: {type(error).__name__}: {error}")) from None
        return cast("R", printable_values(answer))

    @cached_property
    def _limiter(self) -> anyio.CapacityLimiter:
        """Made when the event loop runs."""
        return anyio.CapacityLimiter(self._most)

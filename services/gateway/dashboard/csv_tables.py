"""Lists as CSV: `?format=csv` at the address of a page sends all that its filters show, as RFC 4180 in UTF-8."""

import asyncio
import csv
import io
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import hdrs, web

from services.chassis.turns import pause
from services.gateway.handlers.streams import abort_stream, write

# Rows of a file without its header; the name of a file that has not all of them says so.
MOST_ROWS = 10_000
ROWS_AT_ONCE = 100
# How long a file is sent at most, and how long a client may leave a part of it unread.
MOST_SECONDS, IDLE_SECONDS = 120.0, 30.0
# What makes a spreadsheet take a text for a formula (CWE-1236), also in the full width of East Asian scripts.
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """A list for a spreadsheet: the name of the file without its ending, and rows with the cells of the columns."""

    name: str
    columns: Sequence[str]
    rows: AsyncIterator[Sequence[Any]]
    is_cut: bool = False


# HttpError.
LoadTable = Callable[[web.Request], Awaitable[Table]]


def wants_csv(request: web.Request) -> bool:
    """Whether the address of a page asks for its list as CSV."""
    return request.query.get("format") == "csv"


async def send_table(request: web.Request, table: Table, headers: Mapping[str, str]) -> web.StreamResponse:
    """The rows as they are read. A file that breaks off ends the connection, so that nobody takes it for the whole."""
    name = f"{table.name}-first-{MOST_ROWS}" if table.is_cut else table.name
    disposition = f'attachment; filename="{name}.csv"'
    response = web.StreamResponse(headers={**headers, hdrs.CONTENT_DISPOSITION: disposition})
    response.content_type, response.charset = "text/csv", "utf-8"
    await response.prepare(request)
    try:
        async with asyncio.timeout(MOST_SECONDS):
            async for lines in _parts(table):
                await write(response, lines, IDLE_SECONDS)
            await response.write_eof()
    except Exception as error:
        abort_stream(request, error)
    return response


async def _parts(table: Table) -> AsyncIterator[bytes]:
    rows: list[Sequence[Any]] = [table.columns]
    async for row in table.rows:
        rows.append(row)
        if len(rows) >= ROWS_AT_ONCE:
            yield write_lines(rows)
            rows = []
            await pause()
    yield write_lines(rows)


def write_lines(rows: Sequence[Sequence[Any]]) -> bytes:
    """Lines of CSV; None is an empty cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([*map(_cell, row)] for row in rows)
    return text.getvalue().encode("utf-8", "replace")


def _cell(value: Any) -> Any:
    """Numbers as they are, and texts that no spreadsheet takes for formulas."""
    if value is None or isinstance(value, int | float):
        return str(value).lower() if isinstance(value, bool) else value
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def row_of(item: Json, columns: Sequence[str]) -> list[Any]:
    """The cells of an item of REST: "ci.branch" is a field of a field, and a list of texts is one text."""
    return [_value(item, column) for column in columns]


def _value(item: Any, column: str) -> Any:
    for name in column.split("."):
        item = item.get(name) if isinstance(item, Mapping) else None
    if isinstance(item, list) and all(isinstance(each, str) for each in item):
        return "; ".join(item)
    return item

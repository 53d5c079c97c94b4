"""The pages of the versions of a test's steps: all of them, and the difference of two."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

import orjson
from aiohttp import web

from services.gateway.dashboard.app_names import with_apps
from services.gateway.dashboard.pages import Values, render
from services.gateway.dashboard.pins import read_header
from services.gateway.dashboard.resources import read, read_tagged
from services.gateway.dashboard.step_text import write_steps
from services.gateway.http.json_responses import HttpError
from services.gateway.http.request_body import BodyMemory, read_json
from services.gateway.http.request_context import REQUEST_CONTEXT

PAGE_SIZE = 20
MAX_BYTES, BODY_SECONDS = 1024 * 1024, 15.0
CONTEXT_LINES = 3
# Of each text. The work grows with the cube of it for texts that are made for that, to a tenth of a second.
LINES_LIMIT = 1_000
Kind = Literal["same", "added", "removed", "gap"]


@dataclass(frozen=True, slots=True)
class DifferenceLine:
    """A line of either text or of both; a gap stands for equal lines, and its text says which line comes next."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class VersionDifference:
    """The changed lines with the equal ones around them; `is_too_long` texts are not compared."""

    lines: tuple[DifferenceLine, ...] = ()
    is_too_long: bool = False

    @property
    def added(self) -> int:
        return sum(line.kind == "added" for line in self.lines)

    @property
    def removed(self) -> int:
        return sum(line.kind == "removed" for line in self.lines)


@with_apps
async def show_versions(request: web.Request) -> Values:
    """A page of the versions, and the difference of those in `from` and `to`, otherwise of the newest two."""
    query = request.query
    (test, etag), versions = await asyncio.gather(
        read_tagged(request, "GetTest"),
        read(request, "ListTestVersions", page=query.get("page"), page_size=PAGE_SIZE),
    )
    latest = test["version_number"]
    newer = _number(query.get("to"), latest)
    older = _number(query.get("from"), max(newer - 1, 1))
    before, after = await asyncio.gather(_version(request, older, latest), _version(request, newer, latest))
    difference = await asyncio.to_thread(compare_steps, before["steps"], after["steps"])
    return {
        **await read_header(request, test),
        "etag": etag,
        "versions": versions,
        "before": before,
        "after": after,
        "difference": difference,
    }


class DifferenceHandler:
    """`POST /tests/{test_id}/difference`: what the text in {"text"} would change in the steps as they are now."""

    def __init__(self, memory: BodyMemory) -> None:
        self._memory = memory

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """A part of a page.

        Raises:
            HttpError: the request cannot be answered.
        """
        org_id = request[REQUEST_CONTEXT].caller.org_id
        text = _text(await read_json(request, MAX_BYTES, BODY_SECONDS, memory=self._memory, org_id=org_id))
        test = await read(request, "GetTest")
        difference = await asyncio.to_thread(compare_steps, test["steps"] or (), text)
        return render(request, "difference.html", {"difference": difference})


def compare_steps(before: Sequence[Any], after: Sequence[Any] | str) -> VersionDifference:
    """The difference of two texts of steps, of which the second may have been written by a person."""
    return compare_texts(write_steps(before), after if isinstance(after, str) else write_steps(after))


def _number(text: str | None, otherwise: int) -> int:
    """The number of a version in an address. HttpError."""
    if not text:
        return otherwise
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise HttpError(422, f"{text[:20]} is not the number of a version: choose two of the versions", "")
    return int(text)


async def _version(request: web.Request, number: int, latest: int) -> Mapping[str, Any]:
    """One version with its steps. The newest comes first, so its number says where it is. HttpError."""
    if not 1 <= number <= latest:
        raise HttpError(404, f"Version {number} of the test not found: it has {latest}", "NOT_FOUND")
    place = latest - number + 1
    page = await read(request, "ListTestVersions", include_steps="true", page=place, page_size=1)
    for item in page["items"]:
        if item["version_number"] == number:
            return dict(item)
    raise HttpError(409, "The test has just been changed: try again", "")


def _text(body: bytes) -> str:
    try:
        text = orjson.loads(body)["text"]
    except (ValueError, KeyError, TypeError):
        text = None
    if not isinstance(text, str):
        raise HttpError(
            422, [{"loc": ["body", "text"], "msg": "Field required", "type": "missing"}], "VALIDATION_FAILED"
        )
    return text


def compare_texts(before: str, after: str) -> VersionDifference:
    """What has to be removed and added to make one text the other."""
    old, new = _lines(before), _lines(after)
    if max(len(old), len(new)) > LINES_LIMIT:
        return VersionDifference(is_too_long=True)
    return VersionDifference(tuple(_compare(old, new)))


def _lines(text: str) -> Sequence[str]:
    return text.removesuffix("\n").split("\n") if text else ()


def _compare(old: Sequence[str], new: Sequence[str]) -> Iterator[DifferenceLine]:
    for group in SequenceMatcher(None, old, new).get_grouped_opcodes(CONTEXT_LINES):
        if group[0][3]:
            yield DifferenceLine("gap", f"line {group[0][3] + 1}")
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                yield from (DifferenceLine("same", text) for text in new[new_start:new_end])
                continue
            yield from (DifferenceLine("removed", text) for text in old[old_start:old_end])
            yield from (DifferenceLine("added", text) for text in new[new_start:new_end])

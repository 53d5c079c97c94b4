"""The pages of the versions of a test's steps: all of them, and the difference of two."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from aiohttp import web

from services.gateway.dashboard.differences import Difference, compare_texts
from services.gateway.dashboard.pages import Values, render, with_session
from services.gateway.dashboard.resources import read, read_tagged
from services.gateway.dashboard.step_text import write_steps
from services.gateway.http.json_responses import HttpError
from services.gateway.http.request_body import BodyMemory, read_json
from services.gateway.http.request_context import REQUEST_CONTEXT

PAGE_SIZE = 20
MAX_BYTES, BODY_SECONDS = 1024 * 1024, 15.0


@with_session
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
    difference = await asyncio.to_thread(_compare_steps, before["steps"], after["steps"])
    return {
        "test": test,
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
        """A part of a page. HttpError."""
        org_id = request[REQUEST_CONTEXT].caller.org_id
        text = _text(await read_json(request, MAX_BYTES, BODY_SECONDS, memory=self._memory, org_id=org_id))
        test = await read(request, "GetTest")
        difference = await asyncio.to_thread(_compare_steps, test["steps"] or (), text)
        return render(request, "difference.html", {"difference": difference})


def _compare_steps(before: Sequence[Any], after: Sequence[Any] | str) -> Difference:
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

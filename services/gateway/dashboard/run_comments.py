"""The comments at the end of the page of a run."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from aiohttp import web

from services.gateway.dashboard.error_pages import PageUnknown
from services.gateway.dashboard.pages import Values
from services.gateway.dashboard.resources import read_part, read_tagged

PAGE_SIZE = 50
# An address as people write it in a sentence; nothing with which it could look like another one.
_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\|\u200b-\u200f\u202a-\u202e\u2066-\u2069]+", re.IGNORECASE | re.UNICODE)
_AFTER_ADDRESS = ".,;:!?)]}"


async def read_comments(request: web.Request, run: Mapping[str, Any]) -> Values:
    """A page of `comments`, the last one unless `comments=1` in the address says which, with `comments_tag`, its ETag;
    None and "" if they cannot be read now.

    Raises:
        PageUnknown: there is no such page.
        HttpError: what the address says is no number of a page.
    """
    asked = request.query.get("comments")
    last = max(1, -(-run.get("comment_count", 0) // PAGE_SIZE))
    reading = read_tagged(request, "ListRunComments", page=asked or last, page_size=PAGE_SIZE)
    part = await read_part("comments", reading)
    if part["comments"] is None:
        if part["comments_refusal"].status == 422:
            raise part["comments_refusal"]
        return {"comments": None, "comments_tag": ""}
    comments, tag = part["comments"]
    if asked and comments["page"] > max(1, comments["total_pages"]):
        raise PageUnknown(comments["page"], max(1, comments["total_pages"]))
    return {"comments": comments, "comments_tag": tag}


def split_addresses(text: str) -> Iterator[tuple[str, bool]]:
    """The parts of a text in order, each with whether it is an http or https address."""
    end = 0
    for found in _ADDRESS.finditer(text):
        address = found[0].rstrip(_AFTER_ADDRESS)
        yield text[end : found.start()], False
        yield address, True
        end = found.start() + len(address)
    yield text[end:], False

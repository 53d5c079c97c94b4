"""The pages of settings: API keys, limits, tests in quarantine, and secrets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from services.gateway.dashboard.pages import Values, with_session
from services.gateway.dashboard.resources import read
from services.gateway.http.json_responses import HttpError

PAGE_SIZE = 50
# From this share of a limit on, the page warns.
NEARLY_USED = 0.8


@dataclass(frozen=True, slots=True)
class LimitRow:
    """A limit as the page shows it; `used` and `share` (from 0) are None for a rate."""

    name: str
    limit: int
    used: int | None

    @property
    def share(self) -> float | None:
        if self.used is None:
            return None
        return self.used / self.limit if self.limit else 1.0

    @property
    def outcome(self) -> str:
        """The class by which a limit that is near its end stands out; empty for others."""
        share = self.share
        if share is None or share < NEARLY_USED or not self.limit:
            return ""
        return "failed" if share >= 1 else "no-verdict"

    @property
    def in_bytes(self) -> bool:
        return self.name.endswith("_bytes")


@with_session
async def list_keys(request: web.Request) -> Values:
    """A page of the API keys; None for somebody who may not see them."""
    try:
        keys = await read(request, "ListApiKeys", page=request.query.get("page"), page_size=PAGE_SIZE)
    except HttpError as error:
        if error.status != 403:
            raise
        keys = None
    return {"keys": keys}


@with_session
async def list_limits(request: web.Request) -> Values:
    """The limits with their use: those that are nearest to their end first, then rates."""
    answer = await read(request, "GetLimits")
    limits = [_limit(each) for each in answer["limits"]]
    counted = sorted((each for each in limits if each.used is not None), key=lambda each: -(each.share or 0))
    return {
        "counted": counted,
        "rates": [each for each in limits if each.used is None],
        "allowed_models": answer["allowed_models"],
        "has_runs": any(each.name == "queued_runs" for each in limits),
    }


def _limit(answer: Mapping[str, Any]) -> LimitRow:
    return LimitRow(answer["name"], int(answer["limit"]), None if answer["used"] is None else int(answer["used"]))


@with_session
async def list_quarantined(request: web.Request) -> Values:
    """A page of the tests in quarantine."""
    page = request.query.get("page")
    return {"tests": await read(request, "ListTests", quarantined="true", page=page, page_size=PAGE_SIZE)}


@with_session
async def list_secrets(request: web.Request) -> Values:
    """A page of the secrets, without their values."""
    return {"secrets": await read(request, "ListSecrets", page=request.query.get("page"), page_size=PAGE_SIZE)}

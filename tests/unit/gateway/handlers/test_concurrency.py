"""How many uploads or streams are under way, of one organisation and of all."""

from contextlib import ExitStack, suppress
from dataclasses import replace

import pytest

from services.chassis.context import Caller
from services.chassis.errors import ResourceExhausted, Unavailable
from services.gateway.auth.rate_limits import UNLIMITED
from services.gateway.handlers.concurrency import ConcurrencyLimit
from services.gateway.http.request_context import RequestContext


def context(org_id: str, uploads: int) -> RequestContext:
    return RequestContext(Caller(org_id=org_id), limits=replace(UNLIMITED, uploads=uploads))


def test_as_many_as_allowed_are_under_way() -> None:
    limit = ConcurrencyLimit("uploads")
    with ExitStack() as stack:
        stack.enter_context(limit.enter(context("org", 2)))
        with limit.enter(context("org", 2)):
            with pytest.raises(ResourceExhausted, match=r"uploads \(2\)") as refusal, limit.enter(context("org", 2)):
                pass
            assert (refusal.value.retry_after, limit.used("org")) == (5.0, 2)
            with limit.enter(context("another", 2)):
                pass
        with limit.enter(context("org", 2)):
            assert limit.used("org") == 2


def test_all_organisations_together_have_a_limit_too() -> None:
    limit = ConcurrencyLimit("uploads", of_all=2)
    with limit.enter(context("org", 2)):
        with limit.enter(context("another", 2)):
            with pytest.raises(Unavailable, match="as many uploads under way") as refusal, limit.enter(context("c", 2)):
                pass
            assert (refusal.value.reason, refusal.value.retry_after, limit.used("c")) == ("TOO_MANY_UPLOADS", 5.0, 0)
        with limit.enter(context("c", 2)):
            pass


def test_no_organisation_takes_the_last_places() -> None:
    limit, entered = ConcurrencyLimit("uploads", of_all=24), []
    with ExitStack() as stack:
        for org_id in "abcdef":
            with suppress(Unavailable):
                while True:
                    stack.enter_context(limit.enter(context(org_id, 100)))
            entered.append(limit.used(org_id))
    assert entered == [12, 6, 3, 2, 1, 0]


def test_none_is_remembered_after_the_end() -> None:
    limit = ConcurrencyLimit("uploads")
    with pytest.raises(RuntimeError), limit.enter(context("org", 1)):
        raise RuntimeError
    assert limit.used("org") == 0
    assert not limit._under_way


def test_zero_allows_none() -> None:
    with pytest.raises(ResourceExhausted), ConcurrencyLimit("uploads").enter(context("org", 0)):
        pass

"""Comments of runs on MongoDB, and the rules for who may write and change them."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest

from services.chassis.context import Caller, bind, current
from services.chassis.errors import InvalidArgument, NotFound, PermissionDenied
from services.chassis.ids import derive_ids
from services.executor.model.run_comments import COMMENTS_OF_RUN, RunComment
from services.executor.ports.executions import Page
from services.executor.ports.runs import RunKey
from services.executor.storage.run_comments import MongoRunComments
from services.executor.usecases import run_comments
from services.executor.usecases.run_comments import RunCommentUseCases
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import finish, run_of, running, started
from tests.fakes.executor import plan

ALL = Page(1, COMMENTS_OF_RUN)


@pytest.fixture(autouse=True)
def ana(caller: Caller) -> Iterator[Caller]:
    """Who writes unless a test says otherwise."""
    holder = replace(caller, subject="key-1", subject_name="Ana", scopes=frozenset({"read", "write"}))
    with bind(holder):
        yield holder


@pytest.fixture
def comments(world: World) -> RunCommentUseCases:
    return RunCommentUseCases(MongoRunComments(world.mongo), world.executions.now)


async def texts(comments: RunCommentUseCases, run: RunKey, page: Page = ALL) -> list[str]:
    return [each.text for each in (await comments.page(run, page))[0]]


async def test_comments_are_in_order_and_counted_at_their_run(world: World, comments: RunCommentUseCases) -> None:
    first, second = await started(world, *[plan() for _ in range(2)])
    written = [await comments.create(first, f" {text}\n") for text in ("one", "two\nlines", "three")]
    await comments.create(second, "of another run")
    assert await texts(comments, first) == ["one", "two\nlines", "three"]
    assert await texts(comments, first, Page(2, 2)) == ["three"]
    assert (await comments.page(first, Page(2, 2)))[1] == 3
    assert [written[0].by, written[0].edited_at] == ["Ana", None]
    await comments.delete(first, written[1].id)
    assert (await run_of(world, first)).comment_count == 2
    assert await texts(comments, first) == ["one", "three"]


async def test_many_may_write_at_once(world: World, comments: RunCommentUseCases) -> None:
    (run,) = await started(world, plan())
    await asyncio.gather(*(comments.create(run, str(number)) for number in range(COMMENTS_OF_RUN)))
    assert (await run_of(world, run)).comment_count == COMMENTS_OF_RUN


async def test_a_run_under_way_keeps_its_number(world: World, comments: RunCommentUseCases) -> None:
    """Workers replace the document in which it stands."""
    claim = await running(world)
    await asyncio.gather(*(comments.create(claim.key, str(number)) for number in range(4)))
    await finish(world, claim)
    ended = await run_of(world, claim.key)
    assert (ended.comment_count, ended.success) == (4, True)
    await comments.create(claim.key, "later")
    assert (await run_of(world, claim.key)).revision == ended.revision  # it changes no result


async def test_only_its_author_or_an_admin_changes_a_comment(
    world: World, comments: RunCommentUseCases, ana: Caller
) -> None:
    [run] = await started(world)
    comment = await comments.create(run, "Mine")
    other = replace(ana, subject="key-2", subject_name="Ben")
    with bind(other):
        for change in (comments.update(run, comment.id, "Not mine"), comments.delete(run, comment.id)):
            with pytest.raises(PermissionDenied, match="Another API key wrote this comment"):
                await change
    with bind(replace(other, subject=None)), pytest.raises(PermissionDenied):
        await comments.delete(run, comment.id)
    assert await comments.update(run, comment.id, "Mine") == comment  # nothing was edited
    changed = await comments.update(run, comment.id, "Still mine")
    assert (changed.text, changed.by) == ("Still mine", "Ana")
    assert changed.edited_at is not None
    with bind(replace(other, scopes=other.scopes | {"admin"})):
        assert (await comments.update(run, comment.id, "Moderated")).by == "Ana"
        await comments.delete(run, comment.id)
    assert await texts(comments, run) == []


async def test_runs_and_comments_of_others_do_not_exist(world: World, comments: RunCommentUseCases) -> None:
    run, other = await started(world, *[plan() for _ in range(2)])
    comment = await comments.create(run, "Mine")
    elsewhere = RunKey(str(uuid4()), run.run_id)

    async def refused(key: RunKey) -> None:
        for call in (
            comments.update(key, comment.id, "x"),
            comments.delete(key, comment.id),
            *((comments.page(key, ALL), comments.create(key, "x")) if key != other else ()),
        ):
            with pytest.raises(NotFound):
                await call

    await refused(elsewhere)
    await refused(other)
    with bind(replace(current(), org_id=str(uuid4()))):
        await refused(run)
    assert await texts(comments, run) == ["Mine"]


async def test_a_run_and_an_organisation_have_a_limited_number(
    world: World, comments: RunCommentUseCases, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, other = await started(world, *[plan() for _ in range(2)])
    monkeypatch.setattr(run_comments, "COMMENTS_OF_RUN", 2)
    made = await asyncio.gather(*(comments.create(run, str(n)) for n in range(4)), return_exceptions=True)
    assert sorted(isinstance(each, RunComment) for each in made) == [False, False, True, True]
    assert all("comments_of_run (2)" in str(each) for each in made if not isinstance(each, RunComment))
    monkeypatch.setattr(run_comments, "COMMENTS_LIMIT", 2)
    with pytest.raises(PermissionDenied, match=r"run_comments \(2\)"):
        await comments.create(other, "x")


async def test_a_request_that_is_repeated_writes_once(world: World, comments: RunCommentUseCases, ana: Caller) -> None:
    [run] = await started(world)
    for _ in range(2):
        with derive_ids(ana.org_id, "CreateRunComment", "key"):
            await comments.create(run, "Once")
    assert await texts(comments, run) == ["Once"]


@pytest.mark.parametrize("text", ["", " \n", "x" * 2001, "a\x00b", "\u200b"])
async def test_what_is_no_text_is_refused(world: World, comments: RunCommentUseCases, text: str) -> None:
    [run] = await started(world)
    with pytest.raises(InvalidArgument, match="text"):
        await comments.create(run, text)

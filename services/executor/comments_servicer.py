"""Inbound gRPC: the service RunComments."""

# ruff: noqa: N802 (methods are named as in the protos)

from typing import Any

from google.protobuf.empty_pb2 import Empty
from mobiletest.executor.v1 import comments_pb2 as pb
from mobiletest.executor.v1 import comments_pb2_grpc

from services.chassis.proto_values import page_fields, to_timestamp
from services.executor.model.run_comments import RunComment
from services.executor.ports.executions import Page
from services.executor.ports.runs import RunKey
from services.executor.usecases.run_comments import RunCommentUseCases, may_change

_Request = (
    pb.ListRunCommentsRequest | pb.CreateRunCommentRequest | pb.UpdateRunCommentRequest | pb.DeleteRunCommentRequest
)


class RunCommentsServicer(comments_pb2_grpc.RunCommentsServicer):
    """Keeps what people write about runs."""

    def __init__(self, usecases: RunCommentUseCases) -> None:
        self._usecases = usecases

    async def ListRunComments(self, request: pb.ListRunCommentsRequest, context: Any) -> pb.ListRunCommentsResponse:
        comments, total = await self._usecases.page(_run(request), Page(request.page, request.page_size))
        return pb.ListRunCommentsResponse(items=map(_proto, comments), **page_fields(request, total))

    async def CreateRunComment(self, request: pb.CreateRunCommentRequest, context: Any) -> pb.RunComment:
        return _proto(await self._usecases.create(_run(request), request.text))

    async def UpdateRunComment(self, request: pb.UpdateRunCommentRequest, context: Any) -> pb.RunComment:
        comment_id = request.comment_id.lower()
        return _proto(await self._usecases.update(_run(request), comment_id, request.text))

    async def DeleteRunComment(self, request: pb.DeleteRunCommentRequest, context: Any) -> Empty:
        await self._usecases.delete(_run(request), request.comment_id.lower())
        return Empty()


def _run(request: _Request) -> RunKey:
    return RunKey(request.execution_id.lower(), request.run_id.lower())


def _proto(comment: RunComment) -> pb.RunComment:
    return pb.RunComment(
        id=comment.id,
        text=comment.text,
        by=comment.by,
        created_at=to_timestamp(comment.created_at),
        edited_at=to_timestamp(comment.edited_at),
        can_change=may_change(comment),
    )

"""Reads the list item of a stored run (see events.list_item) for the gate."""

from datetime import UTC, datetime

from google.protobuf.struct_pb2 import Struct
from mobiletest.reporting.v1 import reports_pb2

from services.reporting.model.fingerprint import normalise
from services.reporting.model.reports.gate import GateRun
from services.reporting.model.snapshots import Status
from services.reporting.storage.subdocuments import Document

RUN_FIELDS: Document = dict.fromkeys(("status", "test_id", "app_id", "build_id", "listed_at", "list_item"), 1)
"""The fields of a stored run that `gate_run` reads."""


def gate_run(document: Document) -> GateRun:
    """The run as the gate needs it."""
    expired = document.get("listed_at") is None
    item = reports_pb2.BuildRunItem.FromString(b"" if expired else bytes(document["list_item"]))
    failure = _text(item.report_metadata, "top_failure")
    category = _text(item.report_metadata, "category")
    return GateRun(
        run_id=document["_id"],
        test_id=document["test_id"],
        test_name=item.test_name,
        app_id=document["app_id"],
        build_id=document["build_id"],
        build_version=item.resolved_build_version if item.HasField("resolved_build_version") else None,
        status=Status(document["status"]),
        success=item.success,
        ended_at=_ended_at(item),
        branch=_text(item.metadata, "branch"),
        commit_sha=_text(item.metadata, "commit_sha"),
        category=category,
        failure_reason=(normalise(failure) or category) if failure is not None else category,
        expired=expired,
    )


def _text(struct: Struct, name: str) -> str | None:
    value = struct.fields.get(name)
    return (value.string_value or None) if value is not None else None


def _ended_at(item: reports_pb2.BuildRunItem) -> datetime | None:
    return item.completed_at.ToDatetime(tzinfo=UTC) if item.HasField("completed_at") else None

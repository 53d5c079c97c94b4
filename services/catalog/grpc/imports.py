"""The messages of imports of workspaces."""

from collections.abc import AsyncIterator, Iterable

from mobiletest.catalog.v1 import tests_pb2

from mobiletest_automation.flows.positions import digest_positions
from mobiletest_automation.flows.workspace_config import Remark
from services.catalog.model.imports import ImportReport
from services.catalog.model.tests import Test
from services.catalog.usecases.imports import NewImport
from services.chassis.errors import InvalidArgument
from services.chassis.proto_values import read_optional


async def read_import(requests: AsyncIterator[tests_pb2.ImportTestsRequest]) -> NewImport:
    """The parameters of an import, from its first message."""
    first = await anext(requests, None)
    if first is None or first.chunk or first.HasField("end"):
        message = "The first message of an import must have its parameters, and no chunk"
        raise InvalidArgument(message, reason="METADATA_MISSING")
    return NewImport(first.workspace, read_optional(first, "app_id"), first.dry_run, first.expected_bytes)


def report_message(report: ImportReport) -> tests_pb2.ImportTestsResponse:
    """The report of an import as a message."""
    return tests_pb2.ImportTestsResponse(
        workspace=report.workspace,
        dry_run=report.dry_run,
        created_count=len(report.created),
        changed_count=len(report.changed),
        unchanged_count=len(report.unchanged),
        refused_count=len(report.refused),
        missing_count=len(report.missing),
        created=[_test_message(test, is_stored=not report.dry_run) for test in report.created],
        changed=map(_test_message, report.changed),
        unchanged=map(_test_message, report.unchanged),
        refused=[
            tests_pb2.RefusedFlow(path=path, problems=_remark_messages(problems)) for path, problems in report.refused
        ],
        missing=map(_test_message, report.missing),
        notices=_remark_messages(report.notices),
        flows_order=report.found.order,
        continue_on_failure=report.found.continue_on_failure,
    )


def _test_message(test: Test, *, is_stored: bool = True) -> tests_pb2.ImportedTest:
    return tests_pb2.ImportedTest(
        path=test.source_path or "",
        test_id=test.id if is_stored else None,
        name=test.name,
        tags=test.tags,
        version_number=test.version_number,
        positions_digest=digest_positions(test.positions),
    )


def _remark_messages(remarks: Iterable[Remark]) -> list[tests_pb2.FileRemark]:
    return [
        tests_pb2.FileRemark(file=each.file, line=each.line, column=each.column, message=each.message)
        for each in remarks
    ]

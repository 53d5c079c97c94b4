"""Failures, and what people wrote about them, as messages of the contract."""

from itertools import islice
from typing import Any

from mobiletest.reporting.v1 import reports_pb2
from mobiletest.types.v1 import failure_triage_pb2

from services.chassis.proto_values import page_fields, to_enum_number, to_timestamp
from services.chassis.text_search import search_pattern
from services.reporting.model.app_failures import FailureSighting
from services.reporting.model.reports.failures import FailureReport, ListedFailure, newest_upload_first
from services.reporting.model.triages import NOTE_SHOWN, TriageSnapshot
from services.reporting.ports import FailureFilter
from services.reporting.proto_enums import CATEGORY, CATEGORY_NUMBER, FAILURE_STATE
from services.reporting.usecases.failures import FailuresPage

ROWS_SHOWN = 100


def failure_filter(request: reports_pb2.ListFailuresRequest) -> FailureFilter | None:
    """Which failures are asked for; None: none can match the search."""
    pattern = search_pattern(request.search) if request.search else None
    if request.search and pattern is None:
        return None
    return FailureFilter(
        pattern, request.app_id.lower() or None, FAILURE_STATE.get(request.state), CATEGORY.get(request.category)
    )


def failures_message(request: reports_pb2.ListFailuresRequest, page: FailuresPage) -> reports_pb2.ListFailuresResponse:
    return reports_pb2.ListFailuresResponse(
        items=(reports_pb2.FailureItem(**_fields(listed, NOTE_SHOWN)) for listed in page.failures),
        searched_until=to_timestamp(page.searched_until),
        **page_fields(request, page.total),
    )


def failure_details_message(report: FailureReport) -> reports_pb2.FailureDetails:
    return reports_pb2.FailureDetails(
        **_fields(report.listed, None),
        tests=[_test(report, test_id) for test_id in islice(report.tests, ROWS_SHOWN)],
        builds=[
            _build(report, build_id)
            for build_id in newest_upload_first(report.builds, report.known_builds)[:ROWS_SHOWN]
        ],
        variants=[
            reports_pb2.FailureVariant(variant=label, count=count)
            for label, count in islice(report.variants.items(), ROWS_SHOWN)
        ],
        test_count=len(report.tests),
        build_count=len(report.builds),
        counted_all=report.counted_all,
    )


def _fields(listed: ListedFailure, note_length: int | None) -> dict[str, Any]:
    failure = listed.failure
    return {
        "app_id": listed.key[0],
        "fingerprint": listed.key[1],
        "category": CATEGORY_NUMBER.get(failure.category, CATEGORY_NUMBER["unknown"]),
        "reason": failure.reason,
        "sample_message": failure.sample_message,
        "count": failure.count,
        "first_seen": _sighting(failure.first),
        "last_seen": _sighting(failure.last),
        "trend": [reports_pb2.FailureDay(date=day, count=count) for day, count in failure.days],
        "triage": triage_message(listed.triage, note_length),
        "reopened": listed.reopened,
        "app_name": listed.app_name,
    }


def _sighting(sighting: FailureSighting) -> reports_pb2.FailureSighting:
    return reports_pb2.FailureSighting(
        at=to_timestamp(sighting.at),
        run_id=sighting.run_id or None,
        execution_id=sighting.execution_id or None,
        test_id=sighting.test_id,
        test_name=sighting.test_name or None,
        build_id=sighting.build_id,
        build_version=sighting.build_version or None,
        branch=sighting.branch,
    )


def _test(report: FailureReport, test_id: str) -> reports_pb2.FailureTest:
    seen, test = report.tests[test_id], report.known_tests.get(test_id)
    return reports_pb2.FailureTest(
        test_id=test_id,
        test_name=test.name if test else None,
        count=seen.count,
        first_seen_at=to_timestamp(seen.first_seen_at),
        last_seen_at=to_timestamp(seen.last_seen_at),
        run_id=seen.run_id,
        execution_id=seen.execution_id,
        deleted=test is not None and test.deleted,
    )


def _build(report: FailureReport, build_id: str) -> reports_pb2.FailureBuild:
    seen, build = report.builds[build_id], report.known_builds.get(build_id)
    return reports_pb2.FailureBuild(
        build_id=build_id,
        version=build.version if build else None,
        uploaded_at=to_timestamp(build.uploaded_at) if build else None,
        count=seen.count,
        first_seen_at=to_timestamp(seen.first_seen_at),
        last_seen_at=to_timestamp(seen.last_seen_at),
        deleted=build is not None and build.deleted,
    )


def triage_message(
    triage: TriageSnapshot | None, note_length: int | None = NOTE_SHOWN
) -> failure_triage_pb2.FailureTriage | None:
    """What people wrote, with so many characters of the note (None: all); None stays None."""
    if triage is None:
        return None
    return failure_triage_pb2.FailureTriage(
        state=to_enum_number(failure_triage_pb2.FailureState, triage.state),
        fixed_in=triage.fixed_in,
        note=triage.note[:note_length] if triage.note else None,
        ticket_url=triage.ticket_url,
        owner=triage.owner,
        updated_by=triage.updated_by,
        updated_at=to_timestamp(triage.updated_at),
        revision=triage.revision,
    )

"""Flaky tests and durations as messages of the contract."""

from mobiletest.reporting.v1 import reports_pb2

from services.chassis.proto_values import to_timestamp
from services.reporting.messages import quarantine_message
from services.reporting.model.reports.durations import TestDuration
from services.reporting.model.reports.flaky_tests import FlakyTest


def flaky_test_message(test: FlakyTest) -> reports_pb2.FlakyTest:
    return reports_pb2.FlakyTest(
        app_id=test.app_id,
        app_name=test.app_name,
        test_id=test.test_id,
        test_name=test.test_name,
        flaky_score=test.assessment.score,
        classification_detail=test.detail,
        flakes=test.flakes.newest,
        former_flakes=test.flakes.former,
        first_seen_at=to_timestamp(test.flakes.first_seen_at),
        wasted_seconds=test.wasted_seconds,
        newest_verdicts=test.newest_verdicts,
        quarantine=quarantine_message(test.quarantine),
        variant=test.label or None,
    )


def duration_message(test: TestDuration) -> reports_pb2.TestDuration:
    return reports_pb2.TestDuration(
        test_id=test.test_id,
        test_name=test.test_name,
        seconds=test.seconds,
        former_seconds=test.former_seconds,
        builds=[
            reports_pb2.BuildDuration(
                build_id=each.build.build_id, build_version=each.build.version, seconds=each.seconds, runs=each.runs
            )
            for each in test.builds
        ],
    )

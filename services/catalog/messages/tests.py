"""Tests, their versions and attachments as messages."""

from collections.abc import Iterable
from typing import NoReturn

from google.protobuf.struct_pb2 import Value
from mobiletest.catalog.v1 import tests_pb2

from services.catalog.messages.platforms import platform, platform_set
from services.catalog.messages.quarantine import quarantine_message
from services.catalog.messages.values import json_of, optional, timestamp, value_of
from services.catalog.model.attachments import Relationship
from services.catalog.model.tests import Step, TestVersion
from services.catalog.usecases.attached_tests import AttachedTest
from services.catalog.usecases.attachments import Targeted
from services.catalog.usecases.tests import NewTest, TestQuery
from services.chassis.errors import InvalidArgument, Violation

_RELATIONSHIPS = {
    Relationship.ATTACHED: tests_pb2.RELATIONSHIP_ATTACHED,
    Relationship.PINNED: tests_pb2.RELATIONSHIP_PINNED,
}


def test_message(attached: AttachedTest) -> tests_pb2.Test:
    """The test with its attachments."""
    test = attached.test
    return tests_pb2.Test(
        id=test.id,
        org_id=test.org_id,
        name=test.name,
        description=test.description,
        platform=platform_set(test.platform),
        tags=test.tags,
        steps=step_messages(test.steps),
        timeout_seconds=test.timeout_seconds,
        version_number=test.version_number,
        attachments=[
            tests_pb2.TestAttachment(app_id=a.app_id, app_name=app_name, pinned_version=a.pinned_version)
            for a, app_name in attached.attachments
        ],
        created_at=timestamp(test.created_at),
        updated_at=timestamp(test.updated_at),
        quarantine=quarantine_message(attached.quarantine),
    )


def version_message(version: TestVersion) -> tests_pb2.TestVersion:
    """A version of a test's steps."""
    return tests_pb2.TestVersion(
        version_number=version.version_number,
        steps=step_messages(version.steps),
        created_at=timestamp(version.created_at),
    )


def attachment_message(targeted: Targeted) -> tests_pb2.Attachment:
    """An attachment, seen from the app."""
    attachment = targeted.attachment
    return tests_pb2.Attachment(
        app_id=attachment.app_id,
        test_id=attachment.test_id,
        test_name=attachment.test_name,
        relationship=_RELATIONSHIPS[attachment.relationship],
        pinned_version=attachment.pinned_version,
        target_build_version=targeted.target_version,
        quarantine=quarantine_message(targeted.quarantine),
    )


def new_test(request: tests_pb2.CreateTestRequest) -> NewTest:
    """What is said of a new test."""
    return NewTest(
        name=request.name,
        steps=steps(request.steps),
        description=optional(request, "description"),
        platform=platform(request.platform),
        tags=tuple(request.tags),
        timeout_seconds=optional(request, "timeout_seconds"),
        flow=optional(request, "flow"),
        flow_files=flow_files(request.flow_files),
    )


def test_query(request: tests_pb2.ListTestsRequest) -> TestQuery:
    """Which tests are asked for; an empty tag is none. InvalidArgument: by what only reporting knows."""
    if request.HasField("classification"):
        _refuse_classification()
    return TestQuery(
        search=request.search or None,
        app_id=optional(request, "app_id"),
        platform=platform(request.platform),
        tag=request.tag or None,
    )


def _refuse_classification() -> NoReturn:
    message = "the catalog does not know how tests behave; ask mobiletest.reporting.v1.Reports.ListClassifiedTests"
    violation = Violation("classification", message, "value_error")
    raise InvalidArgument(f"classification: {message}", violations=[violation])


def flow_files(files: Iterable[tests_pb2.FlowFile]) -> dict[str, str]:
    """Texts by their paths; of two with one path the last."""
    return {file.path: file.text for file in files}


def steps(values: Iterable[Value]) -> tuple[Step, ...]:
    """Steps as they came; `flows.parser` says whether they are any."""
    return tuple(json_of(value) for value in values)  # type: ignore[misc]


def step_messages(steps: Iterable[Step]) -> list[Value]:
    """Steps as they came, again."""
    return [value_of(step) for step in steps]

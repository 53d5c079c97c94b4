"""The operations of the REST interface: every RPC with a google.api.http annotation."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from google.api import annotations_pb2
from google.protobuf.descriptor import Descriptor, MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from mobiletest.catalog.v1 import (
    api_keys_pb2,
    apps_pb2,
    builds_pb2,
    failures_pb2,
    limits_pb2,
    secrets_pb2,
    tests_pb2,
    workflows_pb2,
)
from mobiletest.executor.v1 import baselines_pb2, comments_pb2, executions_pb2, queue_pb2, screens_pb2, steps_pb2
from mobiletest.executor.v1 import limits_pb2 as executor_limits_pb2
from mobiletest.options.v1 import options_pb2
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.method_options import Method, describe_methods
from services.gateway.contract.fields import option

FILES = (
    apps_pb2,
    builds_pb2,
    tests_pb2,
    workflows_pb2,
    failures_pb2,
    secrets_pb2,
    api_keys_pb2,
    limits_pb2,
    executions_pb2,
    comments_pb2,
    baselines_pb2,
    screens_pb2,
    steps_pb2,
    executor_limits_pb2,
    queue_pb2,
    reports_pb2,
)
EMPTY = "google.protobuf.Empty"
HTTP_BODY = "google.api.HttpBody"
REVISION = "revision"
EXPECTED_REVISIONS = "expected_revisions"


@dataclass(frozen=True, slots=True)
class Operation:
    """One RPC as REST shows it: `verb` GET on `template` "/api/v1/apps/{app_id}".

    `errors` are google.rpc codes that do not follow from the request's shape. `chooses_runs`: unknown fields that would
    choose what runs are not ignored. `handles_files`: a call may take as long as an upload.
    """

    verb: str
    template: str
    takes_body: bool
    rpc: Method
    descriptor: MethodDescriptor
    request: type[Message]
    status: int
    location: str
    errors: frozenset[int]
    chooses_runs: bool
    handles_files: bool

    @property
    def name(self) -> str:
        return self.rpc.name

    @property
    def input(self) -> Descriptor:
        return self.descriptor.input_type

    @property
    def output(self) -> Descriptor:
        return self.descriptor.output_type

    @property
    def streams(self) -> bool:
        """Whether the service answers with a stream."""
        return bool(self.descriptor.server_streaming)

    @property
    def is_download(self) -> bool:
        """Whether the response is a file, of which a client can ask for a part."""
        return self.streams and self.output.full_name == HTTP_BODY

    @property
    def is_tagged(self) -> bool:
        """Whether responses have an ETag: everything that is read but events, and resources that can be edited."""
        if self.streams:
            return self.is_download
        return self.verb == "GET" or REVISION in self.output.fields_by_name

    @property
    def can_expect_revisions(self) -> bool:
        """Whether the change can depend on the revision of the resource (If-Match)."""
        return EXPECTED_REVISIONS in self.input.fields_by_name

    @property
    def path_fields(self) -> tuple[str, ...]:
        """The names in braces, in order."""
        return tuple(part[1:-1] for part in self.template.split("/") if part.startswith("{"))


def all_services() -> list[ServiceDescriptor]:
    """Every service that REST needs."""
    return [service for file in FILES for service in file.DESCRIPTOR.services_by_name.values()]


def all_operations() -> list[Operation]:
    """All operations, in the order of the protos."""
    return [operation for service in all_services() for operation in _of(service)]


def _of(service: ServiceDescriptor) -> Iterator[Operation]:
    contracts = describe_methods([service])
    for descriptor in service.methods:
        rule = option(descriptor, annotations_pb2.http)
        verb = rule.WhichOneof("pattern")
        if verb is None:
            continue
        if rule.body not in ("", "*") or verb == "custom":
            raise ValueError(f"{descriptor.full_name}: this kind of google.api.http rule is not supported")
        rpc = contracts[f"/{service.full_name}/{descriptor.name}"]
        yield _operation(descriptor, rpc, verb.upper(), getattr(rule, verb), takes_body=rule.body == "*")


def _operation(descriptor: MethodDescriptor, rpc: Method, verb: str, template: str, *, takes_body: bool) -> Operation:
    contract = option(descriptor, options_pb2.method_contract)
    output = descriptor.output_type
    default_status = 204 if output.full_name == EMPTY else 200
    return Operation(
        verb=verb,
        template=template,
        takes_body=takes_body,
        rpc=rpc,
        descriptor=descriptor,
        request=GetMessageClass(descriptor.input_type),
        status=contract.success_status or default_status,
        location=contract.location,
        errors=frozenset(contract.errors),
        chooses_runs=contract.chooses_runs,
        handles_files=contract.handles_files,
    )


def find_operation(operations: Iterable[Operation], name: str) -> Operation:
    """The operation of the RPC called `name`.

    Raises:
        KeyError: it does not exist.
    """
    return {operation.name: operation for operation in operations}[name]

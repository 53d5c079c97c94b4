"""Each operation has the time that its work takes."""

from services.chassis.context import Caller
from services.gateway.contract.operations import all_operations, find_operation
from services.gateway.decoding.requests import Decoded
from services.gateway.handlers.request_reader import RequestReader
from services.gateway.http.request_body import BodyMemory
from services.gateway.http.request_context import RequestContext
from services.gateway.settings import Settings
from tests.fakes.gateway import TOKEN

SETTINGS = Settings(
    service_token=TOKEN,  # type: ignore[arg-type]
    object_store="memory:///",
    request_timeout_seconds=10,
    stream_timeout_seconds=3600,
)


def test_a_call_that_handles_files_has_the_time_of_an_upload() -> None:
    def timeout(name: str, asked_for: float | None = None) -> float:
        operation = find_operation(all_operations(), name)
        reader = RequestReader(operation, SETTINGS, BodyMemory())
        return reader.timeout(Decoded(operation.request()), RequestContext(Caller("org"), timeout=asked_for))

    assert (timeout("StartUpload"), timeout("CompleteUpload"), timeout("CompleteUpload", 5)) == (10, 3600, 5)

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.chassis import error_status, errors
from services.chassis.errors import DomainError, Violation

text = st.text(max_size=30)
kinds = st.sampled_from(sorted(error_status.CODES, key=lambda kind: kind.__name__))


@given(
    kind=kinds,
    message=text,
    reason=st.text(min_size=1, max_size=20),
    violations=st.lists(st.builds(Violation, text, text, text), max_size=3),
    retry_after=st.none() | st.integers(0, 100_000).map(lambda milliseconds: milliseconds / 1000),
    metadata=st.dictionaries(text, text, max_size=3),
)
def test_a_domain_error_survives_grpc(
    kind: type[DomainError],
    message: str,
    reason: str,
    violations: list[Violation],
    retry_after: float | None,
    metadata: dict[str, str],
) -> None:
    sent = kind(message, reason=reason, violations=violations, retry_after=retry_after, metadata=metadata)
    received = error_status.from_proto(error_status.to_proto(sent))
    assert type(received) is kind
    assert vars(received) == vars(sent)


def test_each_error_class_has_its_code() -> None:
    assert len(set(error_status.CODES.values())) == len(error_status.CODES) == len(DomainError.__subclasses__())


def rpc_error(code: grpc.StatusCode, error: DomainError | None = None) -> grpc.aio.AioRpcError:
    trailing = grpc.aio.Metadata(*(error_status.to_grpc(error).trailing_metadata if error else ()))
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing, details=error.message if error else "broken")


def test_an_absent_service_is_unavailable_with_retry_after() -> None:
    domain_error = error_status.to_domain_error(rpc_error(grpc.StatusCode.UNAVAILABLE))
    assert isinstance(domain_error, errors.Unavailable)
    assert domain_error.retry_after == 1.0


def test_a_refused_service_token_is_an_internal_error() -> None:
    refused = errors.Unauthenticated("no", reason="SERVICE_TOKEN_INVALID")
    assert error_status.to_domain_error(rpc_error(grpc.StatusCode.UNAUTHENTICATED, refused)) is None
    refused_method = errors.PermissionDenied("no", reason="CALLER_NOT_ALLOWED")
    assert error_status.to_domain_error(rpc_error(grpc.StatusCode.PERMISSION_DENIED, refused_method)) is None


@pytest.mark.parametrize("code", [grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.UNIMPLEMENTED])
def test_an_internal_error_of_a_called_service_is_not_passed_on(code: grpc.StatusCode) -> None:
    assert error_status.to_domain_error(rpc_error(code)) is None


def test_a_message_too_large_for_grpc_is_an_error_of_the_request() -> None:
    error = error_status.to_domain_error(rpc_error(grpc.StatusCode.RESOURCE_EXHAUSTED))
    assert isinstance(error, errors.InvalidArgument)
    assert error.reason == error_status.TOO_LARGE


def test_a_timeout_is_deadline_exceeded() -> None:
    assert isinstance(error_status.to_domain_error(TimeoutError()), errors.DeadlineExceeded)

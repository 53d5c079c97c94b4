import pytest
from mobiletest.catalog.v1 import api_keys_pb2, apps_pb2

from services.chassis.context import ALL_SCOPES
from services.chassis.errors import PermissionDenied, Unauthenticated
from services.chassis.method_options import Method, describe_methods
from services.chassis.service_token import authorize, read_metadata

TOKENS = ["the-present-token", "the-former-token"]
METHODS = describe_methods(
    [apps_pb2.DESCRIPTOR.services_by_name["Apps"], api_keys_pb2.DESCRIPTOR.services_by_name["ApiKeys"]]
)
CREATE = METHODS["/mobiletest.catalog.v1.Apps/CreateApp"]
LIST = METHODS["/mobiletest.catalog.v1.Apps/ListApps"]
VERIFY = METHODS["/mobiletest.catalog.v1.ApiKeys/VerifyApiKey"]


def metadata(**more: str) -> dict[str, str]:
    given = {"authorization": f"Bearer {TOKENS[0]}", "x-org-id": "org-1"}
    return {**given, **{name.replace("_", "-"): value for name, value in more.items()}}


@pytest.mark.parametrize("token", TOKENS)
def test_all_configured_tokens_are_accepted(token: str) -> None:
    assert authorize(LIST, metadata(authorization=f"Bearer {token}"), TOKENS).org_id == "org-1"


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer nope", "Basic the-present-token", "the-present-token"])
def test_a_wrong_token_is_unauthenticated(authorization: str) -> None:
    with pytest.raises(Unauthenticated) as error:
        authorize(LIST, metadata(authorization=authorization), TOKENS)
    assert error.value.reason == "SERVICE_TOKEN_INVALID"


def test_a_service_without_tokens_accepts_no_calls() -> None:
    with pytest.raises(Unauthenticated):
        authorize(LIST, metadata(authorization="Bearer "), [])


def test_an_organisation_is_required() -> None:
    with pytest.raises(Unauthenticated) as error:
        authorize(LIST, metadata(x_org_id=""), TOKENS)
    assert error.value.reason == "ORGANISATION_MISSING"


def test_some_methods_need_no_organisation() -> None:
    assert authorize(VERIFY, metadata(x_org_id=""), TOKENS).org_id == ""


def test_internal_methods_cannot_be_called_through_the_gateway() -> None:
    with pytest.raises(PermissionDenied):
        authorize(VERIFY, metadata(x_caller="gateway"), TOKENS)


def test_internal_callers_have_all_scopes() -> None:
    assert authorize(CREATE, metadata(), TOKENS).scopes == ALL_SCOPES


@pytest.mark.parametrize("scopes", ["", "read", "read,execute,admin"])
def test_the_scope_of_the_method_is_required(scopes: str) -> None:
    with pytest.raises(PermissionDenied) as error:
        authorize(CREATE, metadata(x_scopes=scopes), TOKENS)
    assert error.value.message == "This API key lacks the scope write"


def test_the_caller_is_read_from_the_metadata() -> None:
    caller = authorize(
        CREATE,
        metadata(
            x_scopes="read, write",
            x_subject="key-1",
            x_request_id="r-1",
            traceparent="00-a-b-01",
            idempotency_key="i-1",
            x_caller="gateway",
        ),
        TOKENS,
    )
    assert (caller.scopes, caller.subject, caller.request_id) == (frozenset({"read", "write"}), "key-1", "r-1")
    assert (caller.traceparent, caller.idempotency_key, caller.via_gateway) == ("00-a-b-01", "i-1", True)


def test_a_request_without_an_id_gets_one() -> None:
    assert authorize(LIST, metadata(), TOKENS).request_id


def test_binary_metadata_is_ignored() -> None:
    assert read_metadata([("x-org-id", "o"), ("some-bin", b"\x00")]) == {"x-org-id": "o"}


def all_methods() -> list[Method]:
    return list(METHODS.values())


@pytest.mark.parametrize("method", all_methods(), ids=lambda method: method.name)
def test_a_key_without_scopes_has_none(method: Method) -> None:
    with pytest.raises(PermissionDenied):
        authorize(method, metadata(x_scopes="", x_caller="gateway"), TOKENS)

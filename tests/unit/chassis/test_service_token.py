import pytest
from mobiletest.catalog.v1 import apps_pb2

from services.chassis.errors import InvalidArgument, PermissionDenied, Unauthenticated
from services.chassis.method_options import Method, describe_methods
from services.chassis.service_token import authorize, parse_callers, read_metadata, token_digest

GATEWAY, NEXT_GATEWAY, WORKER = "the-present-token", "the-next-token", "the-token-of-the-worker"
CALLERS = parse_callers(
    f"gateway={token_digest(GATEWAY)}, gateway={token_digest(NEXT_GATEWAY)}\nexecutor-worker={token_digest(WORKER)}"
)
METHODS = describe_methods([apps_pb2.DESCRIPTOR.services_by_name["Apps"]])
CREATE = METHODS["/mobiletest.catalog.v1.Apps/CreateApp"]
LIST = METHODS["/mobiletest.catalog.v1.Apps/ListApps"]


def a_method(*callers: str) -> Method:
    """An internal method that these may call."""
    return Method("example.Service", "Do", "", False, frozenset(callers), False, False, apps_pb2.App)


def metadata(**more: str) -> dict[str, str]:
    given = {"authorization": f"Bearer {GATEWAY}", "x-org-id": "org-1", "x-scopes": "read"}
    return {**given, **{name.replace("_", "-"): value for name, value in more.items()}}


@pytest.mark.parametrize("token", [GATEWAY, NEXT_GATEWAY])
def test_a_caller_may_have_several_tokens(token: str) -> None:
    assert authorize(LIST, metadata(authorization=f"Bearer {token}"), CALLERS).org_id == "org-1"


@pytest.mark.parametrize(
    ("method", "changes", "reason"),
    [
        *(
            (LIST, {"authorization": given}, "SERVICE_TOKEN_INVALID")
            for given in ("", "Bearer", "Bearer nope", f"Basic {GATEWAY}", GATEWAY, f"Bearer {token_digest(GATEWAY)}")
        ),
        (LIST, {"x_org_id": ""}, "ORGANISATION_MISSING"),
        *((CREATE, {"x_scopes": scopes}, "SCOPE_MISSING") for scopes in ("", "read", "read,execute,admin")),
        (CREATE, {"authorization": f"Bearer {WORKER}", "x_scopes": "write"}, "CALLER_NOT_ALLOWED"),
        (a_method(), {}, "CALLER_NOT_ALLOWED"),
    ],
)
def test_calls_without_token_organisation_or_permission_are_refused(
    method: Method, changes: dict[str, str], reason: str
) -> None:
    with pytest.raises((Unauthenticated, PermissionDenied)) as error:
        authorize(method, metadata(**changes), CALLERS)
    assert error.value.reason == reason
    assert isinstance(error.value, Unauthenticated) == (reason in ("SERVICE_TOKEN_INVALID", "ORGANISATION_MISSING"))


def test_a_refusal_names_the_caller_or_the_scope() -> None:
    with pytest.raises(PermissionDenied, match=r"^executor-worker may not call /mobiletest.catalog.v1.Apps/CreateApp$"):
        authorize(CREATE, metadata(authorization=f"Bearer {WORKER}", x_scopes="write"), CALLERS)
    with pytest.raises(PermissionDenied, match=r"^This API key lacks the scope write$"):
        authorize(CREATE, metadata(), CALLERS)


def test_a_service_without_callers_accepts_no_calls() -> None:
    with pytest.raises(Unauthenticated):
        authorize(LIST, metadata(authorization="Bearer "), {})


@pytest.mark.parametrize("org_id", ["team/mobile", "a b", "ä", "a\n", "a.b", "x" * 101])
@pytest.mark.parametrize("method", [LIST, CREATE])
def test_an_organisation_id_that_consumers_of_events_refuse_is_invalid(method: Method, org_id: str) -> None:
    with pytest.raises(InvalidArgument, match="x-org-id must be 1 to 100 letters") as error:
        authorize(method, metadata(x_org_id=org_id), CALLERS)
    assert error.value.violations[0].field == "x-org-id"


@pytest.mark.parametrize("org_id", ["a", "Team_mobile-1", "x" * 100, "6f1b1f0e-5b0f-4d3e-9d1c-6d1f2a7c9b10"])
def test_an_organisation_id_may_have_letters_digits_hyphens_and_underscores(org_id: str) -> None:
    assert authorize(LIST, metadata(x_org_id=org_id), CALLERS).org_id == org_id


def test_some_methods_need_no_organisation() -> None:
    assert authorize(a_method("gateway"), metadata(x_org_id=""), CALLERS).org_id == ""


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_a_call_without_scopes_has_none(method: Method) -> None:
    given = metadata()
    del given["x-scopes"]
    with pytest.raises(PermissionDenied) as error:
        authorize(method, given, CALLERS)
    assert error.value.reason == "SCOPE_MISSING"


def test_the_caller_is_read_from_the_metadata() -> None:
    given = {"x_subject": "key-1", "x_request_id": "r-1", "traceparent": "00-a-b-01", "idempotency_key": "i-1"}
    caller = authorize(CREATE, metadata(x_scopes="read, write", **given), CALLERS)
    assert (caller.scopes, caller.subject, caller.request_id) == (frozenset({"read", "write"}), "key-1", "r-1")
    assert (caller.traceparent, caller.idempotency_key, caller.via_gateway) == ("00-a-b-01", "i-1", True)


def test_only_the_gateway_s_token_makes_a_call_one_of_the_gateway() -> None:
    given = metadata(authorization=f"Bearer {WORKER}", x_caller="gateway")
    assert not authorize(a_method("executor-worker"), given, CALLERS).via_gateway


def test_a_request_without_an_id_gets_one() -> None:
    assert authorize(LIST, metadata(), CALLERS).request_id


def test_binary_metadata_is_ignored() -> None:
    assert read_metadata([("x-org-id", "o"), ("some-bin", b"\x00")]) == {"x-org-id": "o"}


@pytest.mark.parametrize("text", ["gateway", "gateway=abc", f"Gateway={'0' * 64}", f"gateway={'G' * 64}"])
def test_unreadable_callers_are_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="is not NAME=SHA256"):
        parse_callers(text)


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_no_text_names_no_callers(text: str) -> None:
    assert parse_callers(text) == {}

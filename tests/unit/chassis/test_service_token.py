import pytest
from mobiletest.catalog.v1 import apps_pb2

from services.chassis.errors import InvalidArgument, PermissionDenied, Unauthenticated
from services.chassis.method_options import Method, describe_methods
from services.chassis.service_token import authorize, parse_callers, read_metadata, token_digest

GATEWAY, NEXT_GATEWAY, WORKER = "the-present-token", "the-next-token", "the-token-of-the-worker"
OPERATOR, READER, ACME, ACME_READER = "all-organisations", "reads-all", "acme-alone", "reads-acme"
CALLERS = parse_callers(
    f"gateway={token_digest(GATEWAY)}, gateway={token_digest(NEXT_GATEWAY)}\nexecutor-worker={token_digest(WORKER)}\n"
    f"operator={token_digest(OPERATOR)},operator={token_digest(READER)}:scopes=read\n"
    f"operator={token_digest(ACME)}:org=acme:scopes=read+write\n"
    f"operator={token_digest(ACME_READER)}:scopes=read:org=acme"
)
METHODS = describe_methods([apps_pb2.DESCRIPTOR.services_by_name["Apps"]])
CREATE = METHODS["/mobiletest.catalog.v1.Apps/CreateApp"]
LIST = METHODS["/mobiletest.catalog.v1.Apps/ListApps"]


def a_method(*callers: str) -> Method:
    """An internal method that these may call."""
    return Method("example.Service", "Do", "", False, frozenset(callers), False, False, False, apps_pb2.App)


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
    with pytest.raises(PermissionDenied, match=r"^The metadata x-scopes lacks the scope write$"):
        authorize(CREATE, metadata(authorization=f"Bearer {OPERATOR}"), CALLERS)


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
def test_a_call_without_a_scopes_header_has_no_scopes(method: Method) -> None:
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


def restricted(token: str, **more: str) -> dict[str, str]:
    """The metadata of a program that knows its token only."""
    return {"authorization": f"Bearer {token}", **{name.replace("_", "-"): value for name, value in more.items()}}


@pytest.mark.parametrize(
    ("method", "given", "org_id", "scopes"),
    [
        (LIST, restricted(READER, x_org_id="shop"), "shop", {"read"}),
        (LIST, restricted(READER, x_org_id="shop", x_scopes="read,write,admin"), "shop", {"read"}),
        (LIST, restricted(ACME), "acme", {"read", "write"}),
        (CREATE, restricted(ACME, x_org_id="acme"), "acme", {"read", "write"}),
        (LIST, restricted(ACME, x_scopes="read"), "acme", {"read"}),
        (LIST, restricted(ACME_READER), "acme", {"read"}),
    ],
)
def test_a_restricted_token_says_what_the_metadata_leaves_out(
    method: Method, given: dict[str, str], org_id: str, scopes: set[str]
) -> None:
    caller = authorize(method, given, CALLERS)
    assert (caller.org_id, caller.scopes) == (org_id, scopes)


@pytest.mark.parametrize(
    ("method", "given", "reason", "message"),
    [
        (CREATE, restricted(READER, x_org_id="shop", x_scopes="write"), "SCOPE_MISSING", "is restricted to read, and"),
        (CREATE, restricted(ACME_READER), "SCOPE_MISSING", "is restricted to read, and lacks the scope write"),
        (CREATE, restricted(ACME, x_scopes="read"), "SCOPE_MISSING", "The metadata x-scopes lacks the scope write"),
        (
            LIST,
            restricted(ACME, x_org_id="shop"),
            "ORGANISATION_NOT_ALLOWED",
            "for the organisation acme, not for shop",
        ),
        (a_method("operator"), restricted(READER, x_org_id="shop"), "CALLER_NOT_ALLOWED", "methods that need a scope"),
        (a_method("operator"), restricted(ACME), "CALLER_NOT_ALLOWED", "not /example.Service/Do"),
        (a_method("gateway"), restricted(ACME), "CALLER_NOT_ALLOWED", "operator may not call"),
    ],
)
def test_a_restricted_token_allows_nothing_else(
    method: Method, given: dict[str, str], reason: str, message: str
) -> None:
    with pytest.raises(PermissionDenied, match=message) as error:
        authorize(method, given, CALLERS)
    assert error.value.reason == reason


def test_a_restricted_token_needs_an_organisation_if_it_has_none() -> None:
    with pytest.raises(Unauthenticated, match="no x-org-id"):
        authorize(LIST, restricted(READER), CALLERS)


@pytest.mark.parametrize("text", ["gateway", "gateway=abc", f"Gateway={'0' * 64}", f"gateway={'G' * 64}"])
def test_unreadable_callers_are_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="is not NAME=SHA256"):
        parse_callers(text)


@pytest.mark.parametrize(
    "restrictions",
    [
        ":",
        ":read",
        ":org=",
        ":org=a.b",
        ":scopes=",
        ":scopes=read,write",
        ":scopes=read+delete",
        ":scopes=read:tenant=a",
    ],
)
def test_unreadable_restrictions_are_an_error(restrictions: str) -> None:
    with pytest.raises(
        ValueError, match=r"restriction that is not org=ID, .* some of admin.execute.read.write|not NAME="
    ):
        parse_callers(f"operator={'0' * 64}{restrictions}")


def test_only_the_operator_s_tokens_are_restricted() -> None:
    with pytest.raises(ValueError, match='a token of "gateway" cannot be restricted'):
        parse_callers(f"gateway={'0' * 64}:scopes=read")


@pytest.mark.parametrize("other", ["gateway={}", "operator={}", "operator={}:scopes=read", "operator={}:org=b"])
@pytest.mark.parametrize("restricted_first", [True, False])
def test_a_token_has_its_restrictions_wherever_it_is_listed(other: str, restricted_first: bool) -> None:
    """Otherwise one of the entries would be forgotten, and the token allow more than it says."""
    entries = [f"operator={'0' * 64}:org=a", other.format("0" * 64)]
    with pytest.raises(ValueError, match="listed twice with different restrictions"):
        parse_callers(",".join(entries if restricted_first else reversed(entries)))


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_no_text_names_no_callers(text: str) -> None:
    assert parse_callers(text) == {}

"""Which service may call which RPC: every method of every service, tried by every caller."""

from importlib import import_module
from pathlib import Path

import mobiletest
import pytest

from services.chassis.context import ALL_SCOPES
from services.chassis.errors import PermissionDenied
from services.chassis.method_options import Method, describe_methods
from services.chassis.service_token import authorize, parse_callers
from tests.callers import ALL, callers

GENERATED = Path(next(iter(mobiletest.__path__)))
FILES = [
    import_module(".".join(path.relative_to(GENERATED.parent).with_suffix("").parts))
    for path in sorted(GENERATED.rglob("*_pb2.py"))
]
METHODS = describe_methods(service for file in FILES for service in file.DESCRIPTOR.services_by_name.values())
FACTS = {"ListCatalogFacts", "ListRunFacts", "ListExecutionFacts"}
PLANS = {"BatchResolveRuns", "ResolveRuns", "StreamRuns"}
LIMITS = {"GetOrganisationLimits"}
VALUES = {"GetSecretValues", "DownloadTestFile"}
SESSIONS = {"CreateSession", "VerifySession", "EndSession"}
OPERATIONS = {"Verify", "Rebuild", "SetOrganisationLimits"}
ONLY = {
    "executor-api": {"ListTests"} | PLANS | LIMITS,
    "executor-worker": {"DownloadBuild"} | LIMITS | VALUES,
    "reporting": FACTS | LIMITS,
}
# The gateway and the operator may call everything else.
NOT = {
    "gateway": FACTS | OPERATIONS | PLANS | LIMITS | VALUES,
    "operator": FACTS | PLANS | VALUES | SESSIONS | {"VerifyApiKey", "CallTogether"},
}


def is_allowed(caller: str, method: Method) -> bool:
    return method.name in ONLY[caller] if caller in ONLY else method.name not in NOT[caller]


def test_every_method_has_callers() -> None:
    assert len(METHODS) > 60
    assert [method.path for method in METHODS.values() if not method.callers] == []


@pytest.mark.parametrize("caller", ALL)
@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: f"{method.service}.{method.name}")
def test_a_caller_may_call_its_methods_and_no_others(method: Method, caller: str) -> None:
    token = f"the token of {caller}"
    metadata = {"authorization": f"Bearer {token}", "x-org-id": "org", "x-scopes": ",".join(ALL_SCOPES)}
    accepted = parse_callers(callers(token, caller))
    if is_allowed(caller, method):
        assert authorize(method, metadata, accepted).org_id == "org"
    else:
        with pytest.raises(PermissionDenied) as refused:
            authorize(method, metadata, accepted)
        assert refused.value.reason == "CALLER_NOT_ALLOWED"

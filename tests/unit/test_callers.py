"""Which service may call which RPC: every method of every service, tried by every caller."""

import pytest
from mobiletest.catalog.v1 import (
    api_keys_pb2,
    apps_pb2,
    builds_pb2,
    facts_pb2,
    resolution_pb2,
    tests_pb2,
    workflows_pb2,
)
from mobiletest.executor.v1 import executions_pb2, steps_pb2
from mobiletest.executor.v1 import facts_pb2 as executor_facts_pb2
from mobiletest.reporting.v1 import operations_pb2, reports_pb2

from services.chassis.context import ALL_SCOPES
from services.chassis.errors import PermissionDenied
from services.chassis.method_options import Method, describe_methods
from services.chassis.service_token import authorize, parse_callers
from tests.callers import ALL, callers

FILES = (
    *(api_keys_pb2, apps_pb2, builds_pb2, facts_pb2, resolution_pb2, tests_pb2, workflows_pb2),
    *(executions_pb2, executor_facts_pb2, operations_pb2, reports_pb2, steps_pb2),
)
METHODS = describe_methods(service for file in FILES for service in file.DESCRIPTOR.services_by_name.values())
FACTS = {"ListCatalogFacts", "ListRunFacts", "ListExecutionFacts"}
PLANS = {"ResolveRuns", "StreamRuns"}
OPERATIONS = {"Verify", "Rebuild"}
ONLY = {
    "executor-api": PLANS,
    "executor-worker": {"DownloadBuild"},
    "reporting": FACTS,
}
NOT = {
    "gateway": FACTS | OPERATIONS | PLANS,
    "operator": FACTS | PLANS | {"VerifyApiKey"},
}
"""The gateway and the operator may call everything else."""


def is_allowed(caller: str, method: Method) -> bool:
    return method.name in ONLY[caller] if caller in ONLY else method.name not in NOT[caller]


def test_no_service_is_left_out() -> None:
    found = {method.service for method in METHODS.values()}
    assert len(found) == 12
    assert len(METHODS) >= 64


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

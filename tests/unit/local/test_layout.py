"""What each service of a local stack is told."""

from deploy.local.layout import CALLERS, Layout, plan_layout
from deploy.local.ports import Ports
from services.chassis.service_token import parse_callers, token_digest
from tests.callers import ALL

TOKENS = {caller: f"the token of {caller}" for caller in CALLERS}


def a_layout() -> Layout:
    with Ports() as ports:
        return plan_layout(ports, 8080, {}, TOKENS, "services")


def test_every_caller_has_a_token() -> None:
    assert sorted(CALLERS) == sorted(ALL)


def test_each_service_gets_its_own_token_and_no_other() -> None:
    own = {"catalog": None, "executor": "executor-api", "worker-1": "executor-worker"}
    for spec in a_layout().services(1):
        token = TOKENS.get(own.get(spec.name, spec.name) or "")
        assert spec.env.get("MOBILETEST_SERVICE_TOKEN") == token
        assert not any(other in text for other in TOKENS.values() if other != token for text in spec.env.values())


def test_services_that_are_called_know_the_callers() -> None:
    known = {token_digest(token): frozenset({caller}) for caller, token in TOKENS.items()}
    assert all(parse_callers(spec.env["MOBILETEST_CALLERS"]) == known for spec in a_layout().services(1))

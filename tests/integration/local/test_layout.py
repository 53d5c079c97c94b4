"""The environment that each service of a stack gets."""

from collections.abc import Iterator

import pytest

from deploy.local.layout import CALLERS, Layout, plan_layout, service_names
from deploy.local.ports import Ports
from deploy.local.service import ServiceSpec
from services.chassis.service_token import parse_callers, token_digest
from tests.callers import ALL

TOKENS = {caller: f"the token of {caller}" for caller in CALLERS}


@pytest.fixture
def layout() -> Iterator[Layout]:
    with Ports() as ports:
        yield plan_layout(ports, 8080, {"MOBILETEST_MONGO_URI": "mongodb://db"}, TOKENS, "services")


@pytest.fixture
def services(layout: Layout) -> dict[str, ServiceSpec]:
    return {spec.name: spec for spec in layout.services(workers=2)}


def test_the_gateway_starts_last(services: dict[str, ServiceSpec]) -> None:
    assert list(services) == service_names(2) == ["catalog", "executor", "reporting", "worker-1", "worker-2", "gateway"]


def test_services_have_distinct_addresses_and_instance_names(services: dict[str, ServiceSpec]) -> None:
    variables = ("MOBILETEST_ADMIN_LISTEN", "MOBILETEST_GRPC_LISTEN", "MOBILETEST_HTTP_LISTEN", "MOBILETEST_INSTANCE")
    values = [spec.env[name] for spec in services.values() for name in variables if name in spec.env]
    assert len(values) == len(set(values))


def test_the_gateway_listens_on_the_requested_port(layout: Layout, services: dict[str, ServiceSpec]) -> None:
    assert services["gateway"].env["MOBILETEST_HTTP_LISTEN"] == "127.0.0.1:8080"
    assert layout.url == "http://127.0.0.1:8080"


def test_every_caller_has_a_token() -> None:
    assert sorted(CALLERS) == sorted(ALL)


def test_callers_of_the_user_s_environment_are_accepted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    given = f"operator={token_digest('mine')}:scopes=read"
    monkeypatch.setenv("MOBILETEST_CALLERS", given)
    with Ports() as ports:
        accepted = parse_callers(plan_layout(ports, 8080, {}, TOKENS, "services").shared["MOBILETEST_CALLERS"])
    assert accepted[token_digest("mine")] == parse_callers(given)[token_digest("mine")]
    assert len(accepted) == len(TOKENS) + 1


def test_each_service_gets_its_own_token_and_no_other(services: dict[str, ServiceSpec]) -> None:
    own = {"catalog": None, "executor": "executor-api", "worker-1": "executor-worker", "worker-2": "executor-worker"}
    for spec in services.values():
        token = TOKENS.get(own.get(spec.name, spec.name) or "")
        assert spec.env.get("MOBILETEST_SERVICE_TOKEN") == token
        assert not any(other in text for other in TOKENS.values() if other != token for text in spec.env.values())

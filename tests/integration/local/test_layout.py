"""The environment that each service of a stack gets."""

from collections.abc import Iterator

import pytest

from deploy.local.layout import Layout, plan_layout
from deploy.local.ports import Ports
from deploy.local.service import ServiceSpec


@pytest.fixture
def layout() -> Iterator[Layout]:
    with Ports() as ports:
        yield plan_layout(ports, 8080, {"MOBILETEST_MONGO_URI": "mongodb://db"}, "services")


@pytest.fixture
def services(layout: Layout) -> dict[str, ServiceSpec]:
    return {spec.name: spec for spec in layout.services(workers=2)}


def test_the_gateway_starts_last(services: dict[str, ServiceSpec]) -> None:
    assert list(services) == ["catalog", "executor", "reporting", "worker-1", "worker-2", "gateway"]


def test_every_service_finds_the_others_and_the_servers(layout: Layout, services: dict[str, ServiceSpec]) -> None:
    for spec in services.values():
        assert spec.env["MOBILETEST_MONGO_URI"] == "mongodb://db"
        for name, address in layout.grpc.items():
            assert spec.env[f"MOBILETEST_{name.upper()}_ADDRESS"] == address


def test_services_have_distinct_addresses_and_instance_names(services: dict[str, ServiceSpec]) -> None:
    variables = ("MOBILETEST_ADMIN_LISTEN", "MOBILETEST_GRPC_LISTEN", "MOBILETEST_HTTP_LISTEN", "MOBILETEST_INSTANCE")
    values = [spec.env[name] for spec in services.values() for name in variables if name in spec.env]
    assert len(values) == len(set(values))


def test_api_and_workers_are_one_program_in_two_roles(services: dict[str, ServiceSpec]) -> None:
    assert services["executor"].module == services["worker-1"].module == "services.executor"
    assert services["executor"].env["MOBILETEST_EXECUTOR_ROLE"] == "api"
    assert services["worker-1"].env["MOBILETEST_EXECUTOR_ROLE"] == "worker"


def test_the_gateway_listens_on_the_requested_port(layout: Layout, services: dict[str, ServiceSpec]) -> None:
    assert services["gateway"].env["MOBILETEST_HTTP_LISTEN"] == "127.0.0.1:8080"
    assert layout.url == "http://127.0.0.1:8080"

"""The Compose file: its services have their settings and volumes, and the same restrictions as in the cluster."""

import re
from subprocess import PIPE, run
from typing import Any

import pytest
import yaml

from services.chassis.service_token import Grant, parse_callers, token_digest
from tests.callers import ALL
from tests.deploy.kustomize import ROOT, SERVICES
from tests.deploy.variables import known, loaded, needed, variables

FILE = ROOT / "deploy" / "compose" / "compose.yaml"
TOKENS = run(["sh", str(ROOT / "deploy" / "tokens.sh")], stdout=PIPE, text=True, check=True).stdout
GIVEN = dict(line.split("=", 1) for line in TOKENS.splitlines())

Service = dict[str, Any]


def document() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(FILE.read_text())
    return read


def interpolated(value: str) -> str:
    """${NAME:-default} and ${NAME:?message}, with GIVEN for what the user has to give."""
    return re.sub(r"\$\{(\w+)(?::-([^}]*)|:\?[^}]*)\}", lambda match: GIVEN.get(match[1], match[2] or ""), value)


@pytest.fixture(params=SERVICES)
def named(request: pytest.FixtureRequest) -> tuple[str, Service]:
    return request.param, document()["services"][request.param]


@pytest.fixture
def service(named: tuple[str, Service]) -> Service:
    return named[1]


def module(service: Service) -> str:
    """Which of our services it runs ("executor")."""
    assert service["command"][:2] == ["python", "-m"]
    return str(service["command"][2]).removeprefix("services.")


def environment(service: Service) -> dict[str, str]:
    return {name: interpolated(value) for name, value in service["environment"].items()}


def test_each_service_gets_variables_that_it_reads_and_all_that_it_needs(service: Service) -> None:
    given = environment(service).keys()
    assert given <= variables(module(service)).keys() <= known()
    assert needed(module(service)) <= given


def test_each_environment_is_valid(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded(module(service), environment(service), monkeypatch)


def test_each_service_gets_its_own_token_and_no_other(named: tuple[str, Service]) -> None:
    name, service = named
    own = f"MOBILETEST_TOKEN_{name.upper().replace('-', '_')}"
    given = {value for value in environment(service).values() if value in set(GIVEN.values())}
    assert given == {GIVEN["MOBILETEST_CALLERS"], *([GIVEN[own]] if own in GIVEN else [])}


def test_the_callers_are_those_of_the_tokens() -> None:
    accepted = parse_callers(GIVEN["MOBILETEST_CALLERS"])
    names = {name: f"MOBILETEST_TOKEN_{name.upper().replace('-', '_')}" for name in ALL}
    assert accepted == {token_digest(GIVEN[variable]): Grant(frozenset({name})) for name, variable in names.items()}


def test_services_listen_at_the_addresses_that_others_use(service: Service) -> None:
    services = document()["services"]
    for name, value in environment(service).items():
        if name.endswith("_ADDRESS"):
            host, _, port = value.partition(":")
            assert environment(services[host])["MOBILETEST_GRPC_LISTEN"] == f"0.0.0.0:{port}"


def test_services_are_confined(service: Service) -> None:
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_the_health_check_asks_the_admin_port(service: Service) -> None:
    port = environment(service)["MOBILETEST_ADMIN_LISTEN"].rpartition(":")[2]
    assert f"http://127.0.0.1:{port}/readyz" in service["healthcheck"]["test"][-1]


def test_all_wait_for_their_servers() -> None:
    services = document()["services"]
    for name in SERVICES:
        conditions = {other: wait["condition"] for other, wait in services[name]["depends_on"].items()}
        assert conditions == {"replica-set": "service_completed_successfully", "kafka": "service_healthy"}
    assert "healthcheck" in services["kafka"]


def test_data_is_on_named_volumes() -> None:
    """Artifacts are on a volume that the catalog and the executor share, and that the gateway only reads."""
    services, volumes = document()["services"], document()["volumes"].keys()
    mounts = {name: each["volumes"][0].partition(":")[0] for name, each in services.items() if "volumes" in each}
    assert mounts.pop("replica-set").startswith("./")
    assert set(mounts.values()) == volumes
    assert {name for name, volume in mounts.items() if volume == "artifacts"} == {
        "catalog",
        "executor-api",
        "executor-worker",
        "gateway",
    }
    assert services["gateway"]["volumes"] == ["artifacts:/var/lib/mobiletest"]


def test_the_executor_runs_in_two_roles() -> None:
    roles = {
        name: each["environment"].get("MOBILETEST_EXECUTOR_ROLE")
        for name, each in document()["services"].items()
        if name in SERVICES
    }
    assert {name: role for name, role in roles.items() if role} == {"executor-api": "api", "executor-worker": "worker"}


def test_only_the_gateway_is_published_and_only_on_loopback() -> None:
    open_ones = {name: each["ports"] for name, each in document()["services"].items() if "ports" in each}
    assert {name: interpolated(ports[0]) for name, ports in open_ones.items()} == {"gateway": "127.0.0.1:8080:8080"}

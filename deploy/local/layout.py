"""The services of a stack, their addresses and their environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.local.ports import LOOPBACK, Ports
from deploy.local.service import ServiceSpec
from services.chassis.service_token import token_digest

ROOT = Path(__file__).resolve().parents[2]
GRPC_SERVICES = ("catalog", "executor", "reporting")
OPERATOR = "operator"
# Who has a token, with which it may call the methods that name it in the protos.
CALLERS = ("gateway", "executor-api", "executor-worker", "reporting", OPERATOR)


def service_names(workers: int) -> list[str]:
    """The names of all services; the gateway last, so that it stops first."""
    return [*GRPC_SERVICES, *(f"worker-{number}" for number in range(1, workers + 1)), "gateway"]


@dataclass(frozen=True, slots=True)
class Layout:
    """The addresses of one stack (`grpc`: service -> host:port), the environment that its services share, and the token
    of each caller.
    """

    http: str
    grpc: Mapping[str, str]
    shared: Mapping[str, str]
    tokens: Mapping[str, str]
    package: str
    ports: Ports
    secret_keys: str = ""

    @property
    def url(self) -> str:
        return f"http://{self.http}"

    def services(self, workers: int) -> list[ServiceSpec]:
        """All services, in the order of `service_names`."""
        return [
            self._grpc_service("catalog", MOBILETEST_SECRET_KEYS=self.secret_keys),
            self._grpc_service("executor", **self.token("executor-api"), MOBILETEST_EXECUTOR_ROLE="api"),
            self._grpc_service("reporting", **self.token("reporting")),
            *(self.worker(number) for number in range(1, workers + 1)),
            self._service("gateway", "gateway", **self.token("gateway"), MOBILETEST_HTTP_LISTEN=self.http),
        ]

    def worker(self, number: int) -> ServiceSpec:
        """A worker, whose tests may open pages on this machine unless the environment says otherwise."""
        pages = os.environ.get("MOBILETEST_ALLOWED_ADDRESSES", f"localhost,{LOOPBACK}")
        role = {"MOBILETEST_EXECUTOR_ROLE": "worker", "MOBILETEST_ALLOWED_ADDRESSES": pages}
        return self._service(f"worker-{number}", "executor", **self.token("executor-worker"), **role)

    def token(self, caller: str) -> dict[str, str]:
        """The variable with the token of this caller."""
        return {"MOBILETEST_SERVICE_TOKEN": self.tokens[caller]}

    def _grpc_service(self, name: str, **env: str) -> ServiceSpec:
        return self._service(name, name, MOBILETEST_GRPC_LISTEN=self.grpc[name], **env)

    def _service(self, name: str, module: str, **env: str) -> ServiceSpec:
        admin = f"{LOOPBACK}:{self.ports.take()}"
        own = {"MOBILETEST_ADMIN_LISTEN": admin, "MOBILETEST_INSTANCE": name, **env}
        return ServiceSpec(name, f"{self.package}.{module}", admin, {**self.shared, **own})


def plan_layout(
    ports: Ports,
    http_port: int,
    environment: Mapping[str, str],
    tokens: Mapping[str, str],
    package: str,
    *,
    secret_keys: str = "",
) -> Layout:
    """Assign ports to a stack; all its services get `environment` and each other's addresses, and accept the callers
    of the user's environment too.
    """
    grpc = {name: f"{LOOPBACK}:{ports.take()}" for name in GRPC_SERVICES}
    addresses = {f"MOBILETEST_{name.upper()}_ADDRESS": address for name, address in grpc.items()}
    known = [f"{caller}={token_digest(token)}" for caller, token in tokens.items()]
    callers = ",".join([*known, os.environ.get("MOBILETEST_CALLERS", "")])
    python = {"PYTHONPATH": python_path(), "PYTHONUNBUFFERED": "1"}
    reflection = {"MOBILETEST_REFLECTION": "true"}  # for grpcurl and its like, on a machine of one's own
    shared = {**addresses, **python, **reflection, "MOBILETEST_CALLERS": callers, **environment}
    return Layout(f"{LOOPBACK}:{http_port}", grpc, shared, tokens, package, ports, secret_keys)


def python_path() -> str:
    """PYTHONPATH for the services, automation and the generated code, independent of the working directory."""
    inherited = os.environ.get("PYTHONPATH")
    ours = (str(ROOT), str(ROOT / "gen"), str(ROOT / "automation"))
    return os.pathsep.join([*ours, *([inherited] if inherited else [])])

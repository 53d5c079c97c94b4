"""The Kubernetes manifests as kustomize renders them, and the questions that the tests ask of them."""

import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import skip_or_fail

ROOT = Path(__file__).resolve().parents[2]
TREE = ROOT / "deploy" / "k8s"
TARGETS = ("base", "overlays/dev", "overlays/prod")
OVERLAYS = ("overlays/dev", "overlays/prod")
SERVICES = ("gateway", "catalog", "executor-api", "executor-worker", "reporting")
DEPLOYMENTS = [(target, name) for target in TARGETS for name in SERVICES]

POD_IP = "10.1.2.3"

Manifest = dict[str, Any]


def tool(name: str) -> str:
    """A program or a file in build/tools, or a program from the PATH; else the test is skipped, in CI it fails."""
    built = ROOT / "build" / "tools" / name
    path = built if built.exists() else shutil.which(name)
    return str(path or skip_or_fail(f"no {name}: `make deploy-check` puts it into build/tools"))


@cache
def render_overlay(target: str) -> tuple[Manifest, ...]:
    """All manifests of a target."""
    build = [tool("kustomize"), "build", str(TREE / target)]
    built = subprocess.run(build, check=True, capture_output=True, text=True)
    return tuple(yaml.safe_load_all(built.stdout))


def deployment_of(target: str, name: str) -> Manifest:
    """The Deployment of one of SERVICES."""
    return named(of_kind(target, "Deployment"))[f"mobiletest-{name}"]


def of_kind(target: str, kind: str) -> list[Manifest]:
    return [manifest for manifest in render_overlay(target) if manifest["kind"] == kind]


def named(manifests: Iterable[Manifest]) -> dict[str, Manifest]:
    return {manifest["metadata"]["name"]: manifest for manifest in manifests}


def pod(deployment: Manifest) -> Manifest:
    """The pod's spec."""
    spec: Manifest = deployment["spec"]["template"]["spec"]
    return spec


def container(deployment: Manifest) -> Manifest:
    """The only container of the pod."""
    (only,) = pod(deployment)["containers"]
    result: Manifest = only
    return result


def in_bytes(quantity: str) -> int:
    """A quantity of Kubernetes ("9Gi") in bytes."""
    return int(quantity[:-2]) * {"Mi": 2**20, "Gi": 2**30}[quantity[-2:]]


def pod_labels(deployment: Manifest) -> dict[str, str]:
    labels: dict[str, str] = deployment["spec"]["template"]["metadata"]["labels"]
    return labels


def component(manifest: Manifest) -> str:
    return str(manifest["metadata"]["labels"]["app.kubernetes.io/component"])


def module(deployment: Manifest) -> str:
    """The Python module that the container runs: services.catalog."""
    command = container(deployment)["command"]
    assert command[:2] == ["python", "-m"]
    return str(command[2])


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a label selector (matchLabels, and expressions with In) takes these labels."""
    wanted = selector.get("matchLabels", {})
    expressions = selector.get("matchExpressions", [])
    assert all(expression["operator"] == "In" for expression in expressions)
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        labels.get(expression["key"]) in expression["values"] for expression in expressions
    )


def environment(target: str, deployment: Manifest) -> dict[str, str | None]:
    """What the container's environment is; None for what a Secret gives. POD_IP is put in where it is named."""
    configs = named(of_kind(target, "ConfigMap"))
    result: dict[str, str | None] = {}
    for source in container(deployment)["envFrom"]:
        result |= configs[source["configMapRef"]["name"]]["data"]
    for variable in container(deployment)["env"]:
        result[variable["name"]] = variable.get("value")
    if result.pop("POD_IP", POD_IP) is None:
        result = {name: value and value.replace("$(POD_IP)", POD_IP) for name, value in result.items()}
    return result


def example_pools(text: str) -> str:
    """The pools that the comments of a pools file show."""
    lines = [line.removeprefix("#").removeprefix(" ") for line in text.splitlines() if line.startswith("#")]
    return "\n".join(lines[lines.index("pools:") :])


def each_deployment(targets: Iterable[str] = TARGETS) -> Iterator[tuple[str, Manifest]]:
    for target in targets:
        for deployment in of_kind(target, "Deployment"):
            yield target, deployment

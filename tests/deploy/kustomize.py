"""The Kubernetes manifests as kustomize renders them, and the questions that the tests ask of them."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
TREE = ROOT / "deploy" / "k8s"
TARGETS = ("base", "overlays/dev", "overlays/prod")
OVERLAYS = ("overlays/dev", "overlays/prod")

POD_IP = "10.1.2.3"

Manifest = dict[str, Any]


@cache
def render_overlay(target: str) -> tuple[Manifest, ...]:
    """All manifests of a target. Without kustomize (PATH or build/tools) the test is skipped, in CI it fails."""
    kustomize = shutil.which("kustomize") or shutil.which("kustomize", path=str(ROOT / "build" / "tools"))
    if kustomize is None:
        give_up = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        give_up("no kustomize: `make tools` puts one into build/tools")
    built = subprocess.run([kustomize, "build", str(TREE / target)], check=True, capture_output=True, text=True)
    return tuple(yaml.safe_load_all(built.stdout))


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


def each_deployment(targets: Iterable[str] = TARGETS) -> Iterator[tuple[str, Manifest]]:
    for target in targets:
        for deployment in of_kind(target, "Deployment"):
            yield target, deployment

"""The manifests are what Kubernetes takes: rendered by kustomize, then held against the schemas."""

import re
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from tests.deploy.kustomize import (
    OVERLAYS,
    SERVICES,
    TARGETS,
    TREE,
    Manifest,
    component,
    container,
    each_deployment,
    module,
    named,
    of_kind,
    render_overlay,
)
from tests.deploy.resources import CUSTOM

VERSION = "1.37.0"
LABELS = {"name", "instance", "component", "part-of", "managed-by"}


def check(manifest: Manifest) -> None:
    """ValidationError unless it is right, with no field that its schema does not know."""
    if manifest["kind"] in CUSTOM:
        CUSTOM[manifest["kind"]].model_validate(manifest)
    elif manifest["kind"] == "PrometheusRule":
        assert manifest["apiVersion"] == "monitoring.coreos.com/v1"
    else:
        kubernetes_validate.validate(manifest, VERSION, strict=True)


@pytest.mark.parametrize("target", TARGETS)
def test_every_manifest_follows_its_schema(target: str) -> None:
    for manifest in render_overlay(target):
        check(manifest)


@pytest.mark.parametrize("target", TARGETS)
def test_names_are_unique(target: str) -> None:
    keys = [(manifest["kind"], manifest["metadata"]["name"]) for manifest in render_overlay(target)]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("target", TARGETS)
def test_everything_carries_the_recommended_labels(target: str) -> None:
    wanted = {f"app.kubernetes.io/{label}" for label in LABELS | ({"version"} if target in OVERLAYS else set())}
    for manifest in render_overlay(target):
        missing = wanted - manifest["metadata"]["labels"].keys()
        assert not missing, (manifest["kind"], manifest["metadata"]["name"])


@pytest.mark.parametrize("target", OVERLAYS)
def test_an_overlay_puts_everything_into_one_namespace_that_allows_restricted_pods_only(target: str) -> None:
    (namespace,) = of_kind(target, "Namespace")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    others = {
        manifest["metadata"]["namespace"] for manifest in render_overlay(target) if manifest["kind"] != "Namespace"
    }
    assert others == {namespace["metadata"]["name"]}


@pytest.mark.parametrize("target", TARGETS)
def test_no_secret_is_committed(target: str) -> None:
    assert of_kind(target, "Secret") == []


def test_services_share_no_password() -> None:
    """Only the digests of the callers' tokens are for all that are called."""
    readers: dict[tuple[str, str], set[str]] = {}
    for _, deployment in each_deployment():
        for reference in secret_references(deployment):
            readers.setdefault((reference["name"], reference["key"]), set()).add(module(deployment))
    shared = {key for key, services in readers.items() if len(services) > 1}
    assert shared == {("mobiletest-service-tokens", "MOBILETEST_CALLERS")}


@pytest.mark.parametrize("target", TARGETS)
def test_all_services_are_deployed(target: str) -> None:
    parts = {component(deployment) for deployment in of_kind(target, "Deployment")}
    assert parts == set(SERVICES)


def test_every_component_is_rendered_by_a_target() -> None:
    """So that no manifest in the tree escapes these tests."""
    kustomizations = [
        yaml.safe_load(path.read_text()) | {"at": path.parent} for path in TREE.rglob("kustomization.yaml")
    ]
    used: set[Path] = {(each["at"] / name).resolve() for each in kustomizations for name in each.get("components", [])}
    assert used == {path for path in (TREE / "components").iterdir() if path.is_dir()}


def test_the_readme_makes_the_namespace_then_its_secrets_then_the_rest() -> None:
    commands = [
        line.strip()
        for line in (TREE / "README.md").read_text().replace("\\\n", " ").splitlines()
        if re.match(r"    (kubectl|kustomize|sh) ", line)
    ]
    (namespace,) = named(of_kind("overlays/prod", "Namespace"))
    secrets = [re.search(r"secret generic (\S+) +--namespace (\S+)", each) for each in commands[1:3]]
    assert commands[0] == f"kubectl create namespace {namespace}"
    required = required_secrets()
    assert {(match[1], match[2]) for match in secrets if match} == {(name, namespace) for name in required}
    assert set(re.findall(r"--from-literal=(\w+)=", commands[2])) == required["mobiletest-mongodb"]
    assert commands[3].startswith("kustomize build deploy/k8s/overlays/prod | kubectl apply")


def required_secrets() -> dict[str, set[str]]:
    """The Secrets without which a pod does not start, with the keys that it reads."""
    keys: dict[str, set[str]] = {}
    for _, deployment in each_deployment(["overlays/prod"]):
        for reference in secret_references(deployment):
            if not reference.get("optional"):
                keys.setdefault(reference["name"], set()).add(reference["key"])
    return keys


def secret_references(deployment: Manifest) -> list[Manifest]:
    """Which keys of which Secrets the container gets."""
    sources = [variable.get("valueFrom", {}) for variable in container(deployment)["env"]]
    return [source["secretKeyRef"] for source in sources if "secretKeyRef" in source]

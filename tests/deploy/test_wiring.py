"""The manifests fit together: selectors, ports, addresses, network policies and scalers."""

import re
from typing import Any

import pytest

from services.executor.pools.config import read_pools
from tests.deploy.kustomize import (
    OVERLAYS,
    POD_IP,
    ROOT,
    SERVICES,
    TARGETS,
    Manifest,
    component,
    container,
    deployment_of,
    each_deployment,
    environment,
    example_pools,
    module,
    named,
    of_kind,
    pod,
    pod_labels,
    selects,
)
from tests.deploy.variables import variables

LISTENERS = {
    "grpc": "MOBILETEST_GRPC_LISTEN",
    "admin": "MOBILETEST_ADMIN_LISTEN",
    "http": "MOBILETEST_HTTP_LISTEN",
    "files": "MOBILETEST_EXECUTOR_FILES_LISTEN",
}


def ports(deployment: Manifest) -> dict[str, int]:
    return {port["name"]: port["containerPort"] for port in container(deployment)["ports"]}


@pytest.mark.parametrize("target", TARGETS)
def test_each_selector_matches_only_its_own_pods(target: str) -> None:
    labels = {component(deployment): pod_labels(deployment) for deployment in of_kind(target, "Deployment")}
    for kind in ("Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"):
        for manifest in of_kind(target, kind):
            chosen = [name for name, each in labels.items() if selects(selector_of(manifest), each)]
            assert chosen == [component(manifest)], (kind, manifest["metadata"]["name"])


def selector_of(manifest: Manifest) -> dict[str, Any]:
    spec = manifest["spec"]
    selector: dict[str, Any] = spec.get("podSelector") or spec["selector"]
    return {"matchLabels": selector} if manifest["kind"] == "Service" else selector


@pytest.mark.parametrize("target", TARGETS)
def test_each_deployment_has_a_budget_and_a_network_policy(target: str) -> None:
    deployments = named(of_kind(target, "Deployment")).keys()
    assert named(of_kind(target, "PodDisruptionBudget")).keys() == deployments
    assert named(of_kind(target, "NetworkPolicy")).keys() == deployments


@pytest.mark.parametrize("target", TARGETS)
def test_processes_listen_on_the_ports_of_their_containers(target: str) -> None:
    for deployment in of_kind(target, "Deployment"):
        given = environment(target, deployment)
        for name, number in ports(deployment).items():
            assert given[LISTENERS[name]] == f"0.0.0.0:{number}"


@pytest.mark.parametrize("target", TARGETS)
def test_probes_and_services_name_ports_that_the_container_has(target: str) -> None:
    by_component = {component(deployment): deployment for deployment in of_kind(target, "Deployment")}
    assert all("admin" in ports(deployment) for deployment in by_component.values())
    for service in of_kind(target, "Service"):
        assert all(port["targetPort"] in ports(by_component[component(service)]) for port in service["spec"]["ports"])


@pytest.mark.parametrize("target", TARGETS)
def test_grpc_services_are_headless_so_that_clients_balance(target: str) -> None:
    for service in of_kind(target, "Service"):
        (port,) = service["spec"]["ports"]
        headless = service["spec"].get("clusterIP") == "None"
        assert (port["name"], port["appProtocol"], headless) in {
            ("grpc", "kubernetes.io/h2c", True),
            ("http", "http", False),
        }


@pytest.mark.parametrize("target", TARGETS)
def test_each_address_is_that_of_a_service_and_the_policies_let_it_through(target: str) -> None:
    services = named(of_kind(target, "Service"))
    for deployment in of_kind(target, "Deployment"):
        for variable in addresses(deployment):
            name, _, port = str(environment(target, deployment)[variable]).partition(":")
            assert services[name]["spec"]["ports"][0]["port"] == int(port)
            assert may_call(target, deployment, services[name], int(port))


def addresses(deployment: Manifest) -> set[str]:
    """The variables with the addresses of other services that it calls."""
    service = module(deployment).removeprefix("services.")
    known = {f"MOBILETEST_{name.upper()}_ADDRESS" for name in ("catalog", "executor", "reporting")}
    return known & variables(service).keys()


def may_call(target: str, caller: Manifest, service: Manifest, port: int) -> bool:
    policies = named(of_kind(target, "NetworkPolicy"))
    callee = policies[service["metadata"]["name"]]["spec"]
    out = policies[caller["metadata"]["name"]]["spec"]
    into = any(
        {"port": "grpc"} in rule["ports"] and selects(rule["from"][0].get("podSelector", {}), pod_labels(caller))
        for rule in callee["ingress"]
    )
    return into and any({"port": port} in rule["ports"] for rule in out["egress"])


@pytest.mark.parametrize("target", TARGETS)
def test_the_policies_open_ports_that_exist(target: str) -> None:
    deployments = named(of_kind(target, "Deployment"))
    for policy in of_kind(target, "NetworkPolicy"):
        opened = {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
        assert opened == set(ports(deployments[policy["metadata"]["name"]]))


KAFKA, MONGODB, GRPC, HTTPS, DNS = 9092, 27017, 50051, 443, 53
# Where the clouds give pods their identity: all and EKS, EKS Pod Identity, GKE.
METADATA = {"169.254.169.254/32": {80}, "169.254.170.23/32": {80}, "169.254.169.252/32": {988}}
EGRESS = {
    "gateway": {KAFKA, GRPC, HTTPS},
    "catalog": {KAFKA, MONGODB, HTTPS},
    "executor-api": {KAFKA, MONGODB, GRPC, HTTPS},
    "executor-worker": {KAFKA, MONGODB, GRPC, HTTPS},
    "reporting": {KAFKA, MONGODB, GRPC},
}
HUBS = {4723, 4444}


@pytest.mark.parametrize("target", TARGETS)
def test_pods_reach_what_they_use_and_nothing_else(target: str) -> None:
    for policy in of_kind(target, "NetworkPolicy"):
        opened = {port["port"] for rule in policy["spec"]["egress"] if not blocks(rule) for port in rule["ports"]}
        hubs = HUBS if (target, component(policy)) == ("overlays/prod", "executor-worker") else set()
        assert opened == EGRESS[component(policy)] | hubs, policy["metadata"]["name"]


@pytest.mark.parametrize("target", TARGETS)
def test_pods_reach_the_dns_of_the_cluster_and_of_their_node(target: str) -> None:
    for policy in of_kind(target, "NetworkPolicy"):
        (rule,) = [each for each in policy["spec"]["egress"] if DNS in {port["port"] for port in each["ports"]}]
        assert blocks(rule) == ["169.254.20.10/32"]
        assert {"kubernetes.io/metadata.name": "kube-system"}.items() <= {
            expression["key"]: expression["values"][0]
            for peer in rule["to"]
            for expression in peer.get("namespaceSelector", {}).get("matchExpressions", [])
        }.items()
        assert {port["protocol"] for port in rule["ports"]} == {"UDP", "TCP"}


def test_only_pods_with_an_object_store_reach_the_metadata_servers() -> None:
    for policy in of_kind("overlays/prod", "NetworkPolicy"):
        reached = {
            block: {port["port"] for port in rule["ports"]}
            for rule in policy["spec"]["egress"]
            for block in blocks(rule)
            if block in METADATA
        }
        stores_files = HTTPS in EGRESS[component(policy)]
        assert reached == (METADATA if stores_files else {})


def blocks(rule: Manifest) -> list[str]:
    """The addresses that a rule names."""
    return [peer["ipBlock"]["cidr"] for peer in rule.get("to", []) if "ipBlock" in peer]


@pytest.mark.parametrize("target", TARGETS)
def test_configuration_is_named_by_its_hash(target: str) -> None:
    """So that a change of it is a rollout."""
    for deployment in of_kind(target, "Deployment"):
        for source in container(deployment)["envFrom"]:
            assert re.search(r"-[a-z0-9]{10}$", source["configMapRef"]["name"])


@pytest.mark.parametrize("target", TARGETS)
def test_claims_that_are_mounted_exist(target: str) -> None:
    claims = named(of_kind(target, "PersistentVolumeClaim"))
    for deployment in of_kind(target, "Deployment"):
        wanted = [
            each["persistentVolumeClaim"]["claimName"]
            for each in pod(deployment)["volumes"]
            if "persistentVolumeClaim" in each
        ]
        assert set(wanted) <= claims.keys()
        store = str(environment(target, deployment).get("MOBILETEST_OBJECT_STORE", ""))
        assert not wanted or store.startswith("file:///var/lib/mobiletest")


@pytest.mark.parametrize("target", OVERLAYS)
def test_all_object_stores_are_the_same(target: str) -> None:
    environments = [environment(target, deployment_of(target, name)) for name in SERVICES if name != "reporting"]
    [store] = {str(given.get("MOBILETEST_OBJECT_STORE", "")) for given in environments}
    assert store


@pytest.mark.parametrize("target", TARGETS)
def test_a_scaled_deployment_has_one_scaler_and_no_fixed_replicas(target: str) -> None:
    """Else each deployment of a new version would set the number back."""
    scalers = [*of_kind(target, "HorizontalPodAutoscaler"), *of_kind(target, "ScaledObject")]
    scaled = [scaler["spec"]["scaleTargetRef"]["name"] for scaler in scalers]
    assert len(scaled) == len(set(scaled))
    assert set(scaled) <= named(of_kind(target, "Deployment")).keys()
    for deployment in of_kind(target, "Deployment"):
        assert ("replicas" in deployment["spec"]) == (deployment["metadata"]["name"] not in scaled)


def test_every_pod_is_scraped_on_an_existing_port() -> None:
    (monitor,) = of_kind("overlays/prod", "PodMonitor")
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    for _, deployment in each_deployment(["overlays/prod"]):
        assert selects(monitor["spec"]["selector"], pod_labels(deployment))
        assert endpoint["port"] in ports(deployment)


def test_the_example_pools_are_valid() -> None:
    text = (ROOT / "deploy" / "k8s" / "components" / "devices" / "device-pools.yaml").read_text()
    assert {pool.platform for pool in read_pools(example_pools(text))} == {"android", "ios"}


def test_workers_have_a_file_server_and_no_pool_that_cannot_work() -> None:
    """A hub that does not exist would make the first runs wait for it."""
    target = "overlays/prod"
    worker = deployment_of(target, "executor-worker")
    given = environment(target, worker)
    (mount,) = [each for each in container(worker)["volumeMounts"] if each["name"] == "device-pools"]
    assert given["MOBILETEST_DEVICE_POOLS"] == f"{mount['mountPath']}/device-pools.yaml"
    assert given["MOBILETEST_EXECUTOR_FILES_URL"] == f"http://{POD_IP}:{ports(worker)['files']}"
    (volume,) = [each for each in pod(worker)["volumes"] if each["name"] == "device-pools"]
    config = named(of_kind(target, "ConfigMap"))[volume["configMap"]["name"]]
    assert read_pools(config["data"]["device-pools.yaml"]) == ()

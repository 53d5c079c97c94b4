"""Every pod: few privileges, probes, a graceful shutdown, and all settings that it needs."""

import re
from base64 import b64encode

import pytest

from deploy.settings_reference import SERVICES
from services.catalog import flow_reader, inspector
from services.chassis.child_pool import JobLimits
from services.chassis.settings import ProcessSettings
from services.executor import resolver_pool
from tests.deploy.kustomize import (
    DEPLOYMENTS,
    OVERLAYS,
    ROOT,
    TARGETS,
    Manifest,
    component,
    container,
    deployment_of,
    each_deployment,
    environment,
    in_bytes,
    module,
    named,
    of_kind,
    pod,
)
from tests.deploy.variables import known, loaded, needed, variables

SECRETS = {
    "MOBILETEST_SERVICE_TOKEN": "0123456789abcdef",
    "MOBILETEST_CALLERS": f"gateway={'0' * 64}",
    "MOBILETEST_MONGO_URI": "mongodb://mongo:27017",
    "MOBILETEST_LLM_API_KEY": "a key",
    "MOBILETEST_KAFKA_PASSWORD": "a password",
    "MOBILETEST_SECRET_KEYS": f"v1={b64encode(bytes(32)).decode()}",
}

# What the base leaves to overlays, and has no default.
FROM_OVERLAYS = {"MOBILETEST_OBJECT_STORE": "s3://artifacts"}


@pytest.fixture(params=DEPLOYMENTS, ids=lambda pair: "-".join(pair).replace("/", "-"))
def placed(request: pytest.FixtureRequest) -> tuple[str, Manifest]:
    """A target and one of its Deployments."""
    target, name = request.param
    return target, deployment_of(target, name)


@pytest.fixture
def target(placed: tuple[str, Manifest]) -> str:
    return placed[0]


@pytest.fixture
def deployment(placed: tuple[str, Manifest]) -> Manifest:
    return placed[1]


def service(deployment: Manifest) -> str:
    """Which service it runs ("executor")."""
    return module(deployment).removeprefix("services.")


def process_settings(target: str, deployment: Manifest, monkeypatch: pytest.MonkeyPatch) -> ProcessSettings:
    environ = FROM_OVERLAYS | {
        name: SECRETS[name] if value is None else value for name, value in environment(target, deployment).items()
    }
    settings = loaded(service(deployment), environ, monkeypatch)
    assert isinstance(settings, ProcessSettings)
    return settings


def test_pods_run_unprivileged(deployment: Manifest) -> None:
    spec, only = pod(deployment), container(deployment)
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == image_user()
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert only["securityContext"]["allowPrivilegeEscalation"] is False
    assert only["securityContext"]["readOnlyRootFilesystem"] is True
    assert only["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def image_user() -> int:
    match = re.search(r"^USER (\d+):\1$", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    assert match
    return int(match[1])


def test_each_pod_gets_its_own_token_and_no_other(deployment: Manifest) -> None:
    given = {
        each["name"]: each["valueFrom"]["secretKeyRef"]["key"]
        for each in container(deployment)["env"]
        if each.get("valueFrom", {}).get("secretKeyRef", {}).get("name") == "mobiletest-service-tokens"
    }
    own = {"MOBILETEST_SERVICE_TOKEN": f"MOBILETEST_TOKEN_{component(deployment).upper().replace('-', '_')}"}
    callers = {"MOBILETEST_CALLERS": "MOBILETEST_CALLERS"}
    assert given == (callers if component(deployment) == "catalog" else callers | own)


def test_pods_have_no_access_to_the_kubernetes_api(target: str, deployment: Manifest) -> None:
    spec = pod(deployment)
    account = named(of_kind(target, "ServiceAccount"))[spec["serviceAccountName"]]
    assert spec["automountServiceAccountToken"] is account["automountServiceAccountToken"] is False
    assert spec["serviceAccountName"] == deployment["metadata"]["name"]


def test_writable_volumes_have_a_size_limit(deployment: Manifest) -> None:
    """/tmp with a limit, and volumes of a claim; what comes from a ConfigMap or a Secret is for reading."""
    for volume in pod(deployment)["volumes"]:
        given = {"persistentVolumeClaim", "configMap", "secret"} & volume.keys()
        assert given or "sizeLimit" in volume["emptyDir"]
    mounted = {mount["mountPath"] for mount in container(deployment)["volumeMounts"]}
    assert "/tmp" in mounted
    assert {mount["name"] for mount in container(deployment)["volumeMounts"]} == {
        v["name"] for v in pod(deployment)["volumes"]
    }


def test_containers_have_requests_and_no_cpu_limit(deployment: Manifest) -> None:
    resources = container(deployment)["resources"]
    assert {"cpu", "memory"} <= resources["requests"].keys()
    assert "memory" in resources["limits"]
    assert "cpu" not in resources["limits"]


def test_liveness_does_not_depend_on_dependencies(deployment: Manifest) -> None:
    """Readiness follows them; what ends a container is /healthz, which does not."""
    only = container(deployment)
    assert only["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "admin"}
    for probe in ("startupProbe", "livenessProbe"):
        assert only[probe]["httpGet"] == {"path": "/healthz", "port": "admin"}
    startup = only["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] == 60


def test_certificates_and_the_password_of_kafka_are_the_pod_s_own(
    target: str, deployment: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are optional, until the settings say that they are used."""
    name = component(deployment)
    (volume,) = [each for each in pod(deployment)["volumes"] if each["name"] == "tls"]
    assert volume["secret"] == {"secretName": f"mobiletest-tls-{name}", "optional": True}
    (password,) = [each for each in container(deployment)["env"] if each["name"] == "MOBILETEST_KAFKA_PASSWORD"]
    reference = {"name": "mobiletest-kafka", "key": f"mobiletest-{name}", "optional": True}
    assert password["valueFrom"]["secretKeyRef"] == reference
    assert process_settings(target, deployment, monkeypatch).kafka_user == f"mobiletest-{name}"


def test_the_grace_period_covers_the_shutdown(
    target: str, deployment: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First no new calls reach it, then it gets its own grace, and there is time to close before it is killed."""
    before = container(deployment)["lifecycle"]["preStop"]["sleep"]["seconds"]
    grace = process_settings(target, deployment, monkeypatch).shutdown_grace_seconds
    assert before >= 5
    assert before + grace + 10 <= pod(deployment)["terminationGracePeriodSeconds"]


def test_a_rollout_keeps_all_replicas(deployment: Manifest) -> None:
    spec = deployment["spec"]
    assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert (spec["minReadySeconds"], spec["progressDeadlineSeconds"]) == (10, 300)


def test_pods_of_one_kind_are_spread(deployment: Manifest) -> None:
    constraints = pod(deployment)["topologySpreadConstraints"]
    assert {each["topologyKey"] for each in constraints} == {"topology.kubernetes.io/zone", "kubernetes.io/hostname"}
    assert all(each["labelSelector"] == deployment["spec"]["selector"] for each in constraints)


def test_containers_get_only_variables_that_they_read(target: str, deployment: Manifest) -> None:
    """The shared ConfigMap may hold more than each service reads; its own and the Secrets may not."""
    shared = next(config for config in of_kind(target, "ConfigMap") if component(config) == "shared")
    given = environment(target, deployment).keys()
    own = given - shared["data"].keys()
    assert given <= known()
    assert own <= variables(service(deployment)).keys()


@pytest.mark.parametrize("target", OVERLAYS)
@pytest.mark.parametrize("service", SERVICES)
def test_an_overlay_sets_all_required_variables(target: str, service: str) -> None:
    for _, deployment in each_deployment([target]):
        if module(deployment) == f"services.{service}":
            missing = needed(service) - environment(target, deployment).keys()
            assert not missing, deployment["metadata"]["name"]


@pytest.mark.parametrize("target", TARGETS)
def test_the_executor_runs_in_two_roles(target: str) -> None:
    executors = [
        deployment for deployment in of_kind(target, "Deployment") if module(deployment) == "services.executor"
    ]
    roles = {component(each): environment(target, each)["MOBILETEST_EXECUTOR_ROLE"] for each in executors}
    assert roles == {"executor-api": "api", "executor-worker": "worker"}


@pytest.mark.parametrize("target", OVERLAYS)
def test_the_version_label_is_the_image_tag(target: str) -> None:
    for deployment in of_kind(target, "Deployment"):
        tag = container(deployment)["image"].rpartition(":")[2]
        assert deployment["metadata"]["labels"]["app.kubernetes.io/version"] == tag


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("name", "pools"),
    [
        ("catalog", [(flow_reader.CHILDREN, flow_reader.LIMITS), (inspector.CHILDREN, inspector.LIMITS)]),
        ("executor-api", [(resolver_pool.CHILDREN, resolver_pool.LIMITS)]),
    ],
)
def test_children_with_all_their_memory_leave_half_a_pod_to_the_service(
    target: str, name: str, pools: list[tuple[int, JobLimits]]
) -> None:
    """Kubernetes ends the whole container when its memory runs out, not the child that took it."""
    children = sum(count * limits.memory_bytes for count, limits in pools)
    assert children <= _memory_limit(target, name) / 2


@pytest.mark.parametrize("target", TARGETS)
def test_attempts_with_all_their_memory_leave_half_a_gibibyte_to_the_worker(target: str) -> None:
    settings = environment(target, deployment_of(target, "executor-worker"))
    slots, memory = settings["MOBILETEST_EXECUTOR_SLOTS"], settings["MOBILETEST_ATTEMPT_MEMORY_BYTES"]
    attempts = int(slots or 0) * int(memory or 0)
    assert attempts + 2**29 <= _memory_limit(target, "executor-worker")


def _memory_limit(target: str, name: str) -> int:
    return in_bytes(container(deployment_of(target, name))["resources"]["limits"]["memory"])

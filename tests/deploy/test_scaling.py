"""KEDA scales by what waits and what runs, against what a pod can really hold."""

import re
from math import ceil
from typing import Any

import pytest

from services.executor.events import RUN_REQUESTS, TOPICS
from services.executor.pools.config import read_pools
from services.executor.pools.pool import DEFAULT_POOLS, Pool
from tests.deploy.kustomize import (
    ROOT,
    TARGETS,
    Manifest,
    component,
    container,
    deployment_of,
    environment,
    example_pools,
    named,
    of_kind,
    pod,
)
from tests.deploy.variables import variables

PROD = "overlays/prod"
WORKER = "executor-worker"
TOLERANCE = 0.1


def desired_replicas(current: int, total: float, target: float) -> int:
    """What the HPA wants for an external metric of type AverageValue.

    https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#algorithm-details
    """
    return current if abs(total / (target * current) - 1) <= TOLERANCE else ceil(total / target)


def scaled_objects() -> dict[str, Manifest]:
    return {component(each): each["spec"] for each in of_kind(PROD, "ScaledObject")}


def triggers() -> list[tuple[Manifest, dict[str, Any]]]:
    return [(each, trigger) for each in of_kind(PROD, "ScaledObject") for trigger in each["spec"]["triggers"]]


def worker_slots(target: str) -> int:
    return int(str(environment(target, deployment_of(target, WORKER))["MOBILETEST_EXECUTOR_SLOTS"]))


def worker_pools(target: str) -> tuple[Pool, ...]:
    """The pools of a worker's pod: those that its ConfigMap shows as an example, else the default."""
    volumes = pod(deployment_of(target, WORKER))["volumes"]
    names = [volume["configMap"]["name"] for volume in volumes if volume["name"] == "device-pools"]
    configs = named(of_kind(target, "ConfigMap"))
    return read_pools(example_pools(configs[names[0]]["data"]["device-pools.yaml"])) if names else DEFAULT_POOLS


def worker_replicas(current: int, **metrics: int) -> int:
    """The replicas that KEDA and the HPA want for these values of the workers' triggers."""
    modifiers = scaled_objects()["executor-worker"]["advanced"]["scalingModifiers"]
    assert modifiers["metricType"] == "AverageValue"
    total = sum(metrics[name] for name in modifiers["formula"].split(" + "))
    return desired_replicas(current, total, float(modifiers["target"]))


@pytest.mark.parametrize("target", TARGETS)
def test_a_pod_can_fill_its_slots_with_runs_of_either_platform(target: str) -> None:
    """Else it would count as half idle while all of its places are taken."""
    pools, slots = worker_pools(target), worker_slots(target)
    for platform in {pool.platform for pool in pools}:
        assert slots <= sum(pool.slots for pool in pools if pool.platform == platform)


def test_there_are_no_more_workers_than_the_hubs_have_slots_for() -> None:
    """Hubs are shared by all workers, simulated devices are each worker's own."""
    pools = worker_pools(PROD)
    assert all(pool.hub is not None for pool in pools)
    most = ceil(sum(pool.slots for pool in pools) / worker_slots(PROD))
    assert scaled_objects()["executor-worker"]["maxReplicaCount"] <= most


def test_the_target_of_the_formula_is_what_a_pod_can_hold() -> None:
    target = scaled_objects()["executor-worker"]["advanced"]["scalingModifiers"]["target"]
    assert int(target) == worker_slots(PROD)


def test_the_formula_counts_every_trigger_once() -> None:
    spec = scaled_objects()["executor-worker"]
    names = [trigger["name"] for trigger in spec["triggers"]]
    assert spec["advanced"]["scalingModifiers"]["formula"].split(" + ") == names


def test_workers_follow_what_runs_and_waits() -> None:
    """Full ones get help while runs wait and stay while nothing does; idle ones go."""
    full = 10 * worker_slots(PROD)
    assert worker_replicas(10, running=full, waiting_android=60, waiting_ios=0) > 10
    assert worker_replicas(10, running=full, waiting_android=30, waiting_ios=30) > 10
    assert worker_replicas(10, running=full, waiting_android=0, waiting_ios=0) == 10
    assert worker_replicas(10, running=1, waiting_android=0, waiting_ios=0) == 1


def test_busy_workers_stay_while_metrics_are_missing() -> None:
    """A fixed number would take away those beyond it, and an empty answer is not 0 runs."""
    for spec in scaled_objects().values():
        assert spec["fallback"]["behavior"] == "currentReplicasIfHigher"
        assert spec["fallback"]["replicas"] >= spec["minReplicaCount"]
    for _, trigger in triggers():
        if trigger["type"] == "prometheus":
            assert trigger["metadata"]["ignoreNullValues"] == "false"


def test_queries_name_the_namespace_that_they_scale() -> None:
    for scaled, trigger in triggers():
        if trigger["type"] == "prometheus":
            selectors = re.findall(r"mobiletest_\w+(\{.*?\})?", trigger["metadata"]["query"])
            assert selectors == [f'{{namespace="{scaled["metadata"]["namespace"]}"}}']


def test_kafka_triggers_use_existing_topics_and_at_most_one_pod_per_partition() -> None:
    for scaled, trigger in triggers():
        if trigger["type"] == "kafka":
            assert scaled["spec"]["maxReplicaCount"] <= TOPICS[trigger["metadata"]["topic"]]


def test_kafka_triggers_watch_the_groups_that_consume() -> None:
    """A group of another name would never show a lag."""
    watched = {trigger["metadata"]["consumerGroup"] for _, trigger in triggers() if trigger["type"] == "kafka"}
    workers = variables("executor")["MOBILETEST_EXECUTOR_GROUP"]
    reporting = str(variables("reporting")["MOBILETEST_REPORTING_GROUP"])
    assert watched == {*(f"{workers}-{platform.lower()}" for platform in RUN_REQUESTS), reporting}


def test_scalers_find_the_broker_in_the_environment_of_what_they_scale() -> None:
    for scaled, trigger in triggers():
        deployment = named(of_kind(PROD, "Deployment"))[scaled["spec"]["scaleTargetRef"]["name"]]
        assert scaled["spec"]["scaleTargetRef"]["envSourceContainerName"] == container(deployment)["name"]
        if trigger["type"] == "kafka":
            assert trigger["metadata"]["bootstrapServersFromEnv"] in environment(PROD, deployment)


def test_metrics_of_scalers_exist() -> None:
    sources = "".join(
        path.read_text() for folder in ("services", "automation") for path in (ROOT / folder).rglob("*.py")
    )
    queries = [trigger["metadata"]["query"] for _, trigger in triggers() if trigger["type"] == "prometheus"]
    for metric in re.findall(r"mobiletest_\w+", " ".join(queries)):
        assert f'"{metric}"' in sources

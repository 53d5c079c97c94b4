"""The shapes of the custom resources that we use, as far as we use them: what is not named here is refused.

From the definitions of KEDA 2.18 (keda.sh/v1alpha1) and of the Prometheus operator 0.86 (monitoring.coreos.com/v1).
Of a PrometheusRule promtool checks the groups (test_alerts.py).
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Number = Annotated[str, Field(pattern=r"^\d+$")]
Boolean = Literal["true", "false"]


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel)


class Metadata(Shape):
    name: str
    namespace: str
    labels: dict[str, str]


class ScaleTarget(Shape):
    name: str
    kind: Literal["Deployment"] = "Deployment"
    env_source_container_name: str


class KafkaMetadata(Shape):
    bootstrap_servers_from_env: str
    consumer_group: str
    topic: str
    lag_threshold: Number
    activation_lag_threshold: Number
    offset_reset_policy: Literal["earliest", "latest"]
    allow_idle_consumers: Boolean
    limit_to_partitions_with_lag: Boolean


class PrometheusMetadata(Shape):
    server_address: str
    query: str
    threshold: Number
    ignore_null_values: Boolean = "true"


class KafkaTrigger(Shape):
    type: Literal["kafka"]
    name: str | None = None
    metadata: KafkaMetadata


class PrometheusTrigger(Shape):
    type: Literal["prometheus"]
    name: str | None = None
    metadata: PrometheusMetadata


class Fallback(Shape):
    failure_threshold: int
    replicas: int
    behavior: Literal["static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower"]


class AutoscalerConfig(Shape):
    behavior: dict[str, Any]


class ScalingModifiers(Shape):
    formula: str
    target: Number
    metric_type: Literal["AverageValue", "Value"]


class Advanced(Shape):
    scaling_modifiers: ScalingModifiers | None = None
    horizontal_pod_autoscaler_config: AutoscalerConfig


class ScaledObjectSpec(Shape):
    scale_target_ref: ScaleTarget
    min_replica_count: int = Field(ge=1)
    max_replica_count: int
    polling_interval: int
    fallback: Fallback
    advanced: Advanced
    triggers: list[Annotated[KafkaTrigger | PrometheusTrigger, Field(discriminator="type")]] = Field(min_length=1)


class ScaledObject(Shape):
    api_version: Literal["keda.sh/v1alpha1"]
    kind: Literal["ScaledObject"]
    metadata: Metadata
    spec: ScaledObjectSpec


class Selector(Shape):
    match_labels: dict[str, str]


class Endpoint(Shape):
    port: str
    path: str
    interval: str


class PodMonitorSpec(Shape):
    selector: Selector
    pod_metrics_endpoints: list[Endpoint] = Field(min_length=1)
    pod_target_labels: list[str]


class PodMonitor(Shape):
    api_version: Literal["monitoring.coreos.com/v1"]
    kind: Literal["PodMonitor"]
    metadata: Metadata
    spec: PodMonitorSpec


CUSTOM: dict[str, type[Shape]] = {
    "ScaledObject": ScaledObject,
    "PodMonitor": PodMonitor,
}

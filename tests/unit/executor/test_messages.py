"""The model and the protos agree."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mobiletest.catalog.v1 import resolution_pb2
from mobiletest.executor.v1 import executions_pb2, runs_pb2
from mobiletest.options.v1 import options_pb2
from mobiletest.types.v1 import ci_pb2, execution_pb2, platform_pb2, run_config_pb2, source_position_pb2

from mobiletest_automation.flows.positions import SourcePosition
from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import Resolution, StepResult, StepStatus
from mobiletest_automation.model.run_config import (
    DEFAULTS,
    CacheRetryMode,
    DismissDialogs,
    ExecutionMode,
    FallbackTrigger,
    Grounder,
    LlmConfig,
    RunConfig,
)
from mobiletest_automation.model.states import Status
from services.chassis.proto_values import struct_to_json, to_enum_member, to_enum_number
from services.executor.messages import (
    build_config_proto,
    ci_proto,
    execution_proto,
    read_build_config,
    read_ci,
    read_run_config,
    run_config_proto,
    run_proto,
    start_proto,
)
from services.executor.model import lifecycle
from services.executor.model.attribution import Ci, ExecutionSource
from services.executor.model.executions import BuildConfig, ExecutionKind, PinnedBuild
from services.executor.plan_reader import resolved_runs
from tests.unit.executor.model.builders import LIMITS, NOW, claimed_run, execution_of, failing, later

ENUMS: Iterable[tuple[type[Enum], Any]] = [
    (Status, execution_pb2.ExecutionStatus),
    (ExecutionSource, execution_pb2.ExecutionSource),
    (Category, execution_pb2.FailureCategory),
    (Platform, platform_pb2.Platform),
    (ExecutionKind, executions_pb2.ExecutionKind),
    (StepStatus, runs_pb2.StepStatus),
    (Resolution, runs_pb2.Resolution),
    (Grounder, run_config_pb2.GrounderType),
    (CacheRetryMode, run_config_pb2.CacheRetryMode),
    (FallbackTrigger, run_config_pb2.FallbackTrigger),
]


@pytest.mark.parametrize(("kind", "wrapper"), ENUMS)
def test_enums_have_the_same_members_and_spellings(kind: type[Enum], wrapper: Any) -> None:
    spellings = {
        value.number: value.GetOptions().Extensions[options_pb2.spelling] for value in wrapper.DESCRIPTOR.values
    }
    assert {to_enum_number(wrapper, member): member.value for member in kind} | {0: ""} == spellings
    assert [to_enum_member(kind, wrapper, to_enum_number(wrapper, member)) for member in kind] == list(kind)
    assert (to_enum_number(wrapper, None), to_enum_member(kind, wrapper, 0)) == (0, None)


maybe_text = st.none() | st.text(max_size=5)
maybe_bool = st.none() | st.booleans()
configs = st.builds(
    RunConfig,
    llm_config=st.builds(LlmConfig, maybe_text, maybe_text, maybe_text),
    execution_mode=st.builds(
        ExecutionMode,
        human_in_the_loop=maybe_bool,
        enable_reflection=maybe_bool,
        enable_planning=maybe_bool,
        retries=st.none() | st.integers(0, 5),
        reflection_retries=st.none() | st.integers(0, 5),
        skip_app_install=maybe_bool,
        grounder_type=st.none() | st.sampled_from(Grounder),
    ),
    run_id=maybe_text,
    cache_retry_mode=st.none() | st.sampled_from(CacheRetryMode),
    fallback_trigger=st.none() | st.sampled_from(FallbackTrigger),
    disable_grid=maybe_bool,
    dismiss_dialogs=st.builds(DismissDialogs, maybe_bool, maybe_bool, maybe_bool),
)


@given(configs)
def test_a_run_configuration_round_trips(config: RunConfig) -> None:
    assert read_run_config(run_config_proto(config)) == config


def test_variables_are_shown_masked_and_not_in_lists_and_events() -> None:
    config = RunConfig(env={"USER": "ada", "API_TOKEN": "t0ken", "PASSWORD": {"secret": "pw"}})
    execution = replace(execution_of(), run_config=config)
    shown = struct_to_json(execution_proto(execution).run_config.env)
    assert shown == {"USER": "ada", "API_TOKEN": "***", "PASSWORD": {"secret": "pw"}}
    assert not execution_proto(execution, brief=True).run_config.HasField("env")


def test_the_defaults_set_every_field() -> None:
    proto = run_config_proto(DEFAULTS)
    assert len(proto.execution_mode.ListFields()) == len(run_config_pb2.ExecutionMode.DESCRIPTOR.fields)


def test_absent_fields_stay_absent() -> None:
    config = BuildConfig(ios_build=PinnedBuild("app", "1.0"), android_build=PinnedBuild("other"))
    proto = build_config_proto(config)
    assert proto is not None
    assert read_build_config(proto) == config
    assert build_config_proto(BuildConfig()) is None
    assert read_build_config(run_config_pb2.BuildConfig()) == BuildConfig()
    attribution = Ci(system="github", pr_number=0, branch="")
    assert read_ci(ci_proto(attribution)) == attribution
    assert read_ci(ci_pb2.CiAttribution()) == Ci()


def test_absent_fields_of_a_resolution_are_none() -> None:
    proto = resolution_pb2.ResolveRunsResponse(
        workflow_id="w",
        workflow_name="Nightly",
        runs=[
            resolution_pb2.PlannedRun(
                test_id="t",
                test_name="Log in",
                test_version_number=2,
                platform=platform_pb2.PLATFORM_ANDROID,
                app=resolution_pb2.PlannedApp(id="a", name="Shop", static_url="https://shop.example"),
                build=resolution_pb2.PlannedBuild(id="b", version="1.0", sha256="ab", file_name="shop.yaml"),
                timeout_seconds=60,
                source_path="tests/log_in.yaml",
                step_positions="[[],[]]",
            ),
            resolution_pb2.PlannedRun(test_id="u", test_name="Log out", config_error="Attach it."),
        ],
    )
    resolved = resolved_runs(proto)
    assert (resolved.workflow_id, resolved.max_parallel, len(resolved.plans)) == ("w", None, 2)
    made, wrong = resolved.plans
    assert (made.target.platform, made.target.app_id, made.target.build_id) == (Platform.ANDROID, "a", "b")
    assert made.target.build_uploaded_at == datetime(1970, 1, 1, tzinfo=UTC)
    assert (made.static_url, made.system_prompt, made.timeout_seconds) == ("https://shop.example", None, 60)
    assert (made.flow_name, wrong.flow_name) == ("log_in", "Log out")
    assert (made.target.source_path, wrong.target.source_path) == ("tests/log_in.yaml", None)
    assert (made.step_positions, wrong.step_positions) == ("[[],[]]", "")
    assert (made.artifact.sha256, made.artifact.artifact_url) == ("ab", None)
    assert (wrong.target.platform, wrong.target.app_id, wrong.target.build_id) == (None, None, None)
    assert (wrong.target.build_uploaded_at, wrong.config_error) == (None, "Attach it.")


def test_unknown_fields_of_an_execution_are_absent() -> None:
    proto = execution_proto(execution_of(claimed_run()))
    absent = ("workflow_id", "success", "service_client", "build_config", "failure", "started_at", "completed_at")
    assert not any(proto.HasField(name) for name in absent)
    assert proto.id == proto.task_id
    assert proto.message == "Queued: 1 run."
    assert start_proto(execution_of()).status == execution_pb2.EXECUTION_STATUS_QUEUED


def test_a_run_says_how_it_ended() -> None:
    run = claimed_run(retries=0)
    run = lifecycle.finish(run, run.fencing_token, failing(), later(2), LIMITS)
    proto = run_proto(execution_of(run), run)
    assert (proto.status, proto.success) == (execution_pb2.EXECUTION_STATUS_COMPLETED, False)
    assert proto.failure.category == execution_pb2.FAILURE_CATEGORY_ASSERTION_FAILED
    assert not proto.failure.HasField("step_index")
    assert (proto.attempt_number, proto.attempts[0].device, proto.attempts[0].simulated) == (1, "phone-1", True)
    assert proto.metadata["platform"] == "iOS"
    assert proto.report_metadata["flaky"] is False
    assert proto.execution_time_seconds == 2.0


def test_a_failure_and_its_steps_say_where_they_are_written() -> None:
    at, above = SourcePosition("pay.yaml", 12, 3), SourcePosition("main.yaml", 4, 3)
    failed = Failure(Category.ELEMENT_NOT_FOUND, "gone", "gone", 0, "tapOn", at, (above,))
    step = StepResult(index=0, kind="tapOn", text="tapOn", status=StepStatus.FAILED, started_at=NOW, position=at)
    run = claimed_run(retries=0)
    run = lifecycle.finish(run, run.fencing_token, replace(failing(), failure=failed, steps=(step,)), later(2), LIMITS)
    proto = run_proto(execution_of(run), run)
    shown = source_position_pb2.SourcePosition(file="pay.yaml", line=12, column=3)
    assert (proto.failure.position, proto.attempts[0].steps[0].position) == (shown, shown)
    assert list(proto.failure.run_from) == [source_position_pb2.SourcePosition(file="main.yaml", line=4, column=3)]
    unknown = replace(run, failure=Failure(Category.UNKNOWN, "gone"))
    assert not run_proto(execution_of(run), unknown).failure.HasField("position")


def test_runs_with_equal_metadata_have_their_own() -> None:
    run = claimed_run()
    first, second = (run_proto(execution_of(run), run) for _ in range(2))
    first.metadata["platform"] = first.report_metadata["flaky"] = "changed"
    assert second.metadata["platform"] == "iOS"
    assert second.report_metadata["flaky"] is False
    assert run_proto(execution_of(run), run) == second

"""The defaults of the run configuration, and how configurations are merged."""

from mobiletest_automation.model.run_config import (
    DEFAULTS,
    CacheRetryMode,
    DismissDialogs,
    ExecutionMode,
    FallbackTrigger,
    Grounder,
    LlmConfig,
    RunConfig,
    with_defaults,
)


def test_an_empty_configuration_gives_the_defaults() -> None:
    mode = with_defaults().execution_mode
    assert with_defaults() == with_defaults(RunConfig()) == DEFAULTS
    assert mode.retries == 1
    assert mode.grounder_type is Grounder.ACCESSIBILITY
    assert with_defaults().cache_retry_mode is CacheRetryMode.STEP
    assert with_defaults().fallback_trigger is FallbackTrigger.STEP_FAIL
    assert (mode.human_in_the_loop, mode.enable_planning, mode.enable_reflection) == (False, False, False)
    assert (mode.skip_app_install, with_defaults().disable_grid) == (False, False)
    assert with_defaults().llm_config == LlmConfig(None, None, None)


def test_the_request_overrides_the_workflow_field_by_field() -> None:
    workflow = RunConfig(
        llm_config=LlmConfig(primary_model="big", planning_model="planner"),
        execution_mode=ExecutionMode(retries=3, enable_planning=True, enable_reflection=True),
        disable_grid=True,
        dismiss_dialogs=DismissDialogs(permission=True, other_app_crash=True),
    )
    request = RunConfig(
        llm_config=LlmConfig(primary_model="small"),
        execution_mode=ExecutionMode(retries=0, enable_reflection=False),
        run_id="42",
        dismiss_dialogs=DismissDialogs(permission=False),
    )
    merged = with_defaults(workflow, request)
    assert merged.llm_config == LlmConfig(primary_model="small", planning_model="planner")
    assert merged.execution_mode.retries == 0
    assert (merged.execution_mode.enable_planning, merged.execution_mode.enable_reflection) == (True, False)
    assert (merged.disable_grid, merged.run_id) == (True, "42")
    assert merged.dismiss_dialogs == DismissDialogs(permission=False, other_app_crash=True)

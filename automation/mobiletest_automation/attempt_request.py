"""What an attempt is asked to run."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mobiletest_automation.devices.port import NO_BUILD, AppUnderTest
from mobiletest_automation.flows.texts import well_formed, well_formed_json
from mobiletest_automation.model.run_config import DEFAULTS, RunConfig
from mobiletest_automation.secret_texts import SecretTexts


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRequest:
    """What to run. `steps` are as stored (JSON values), `positions` where they are written (`flows.positions`);
    `run_seconds` is what is left of the run's time.

    `left_out` are the paths of steps that are skipped, with those inside them. If the first step of the flow is one,
    the app is neither installed nor launched where a device keeps it in its state; elsewhere it is launched.

    `interactive`: the person who is asked tries steps, as often as it takes, until one is kept.

    `org_id` and `app` (its id) select the entries of the step cache. `env` are variables from outside of the flow, of
    which those named in `secrets` have values that nobody may read, and so have those whose names say so.
    """

    run_id: str
    flow_name: str = ""
    org_id: str = ""
    app: str = ""
    use_cache: bool = True
    ask_model: bool = True
    attempt: int
    platform: str
    steps: object
    positions: str = ""
    left_out: frozenset[str] = frozenset()
    interactive: bool = False
    build: AppUnderTest = NO_BUILD
    config: RunConfig = DEFAULTS
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: frozenset[str] = frozenset()
    app_prompt: str | None = None
    step_seconds: float = 30.0
    run_seconds: float = 1800.0


def well_formed_request(request: AttemptRequest) -> AttemptRequest:
    """The request with its texts well-formed."""
    return replace(
        request,
        steps=well_formed_json(request.steps),
        flow_name=well_formed(request.flow_name),
        env=well_formed_json(request.env),
        app_prompt=well_formed_json(request.app_prompt),
    )


def secret_texts_of(request: AttemptRequest) -> SecretTexts:
    """The values of variables from outside that nobody may read."""
    secrets = SecretTexts()
    secrets.add_variables(request.env)
    secrets.add_secrets({name: request.env[name] for name in request.secrets})
    return secrets

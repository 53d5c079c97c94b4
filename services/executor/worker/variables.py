"""The variables of a claimed run, with the values of the secrets that they refer to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic

from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.flows.environment import is_secret, override, secrets_of, text_of
from mobiletest_automation.model.failures import Category
from services.chassis.error_status import to_domain_error
from services.executor.ports.runs import Claim, Secrets
from services.executor.worker.build_provider import MARGIN_SECONDS
from services.executor.worker.file_cache import is_outage, retry_outages


@dataclass(frozen=True, slots=True)
class Variables:
    """Values by the names of variables; `secrets` are the names of those whose values nobody may read."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: frozenset[str] = frozenset()


class VariableReader:
    """Reads secrets when an attempt starts; they are stored nowhere."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    async def read(self, claim: Claim) -> Variables:
        """The variables of the start, overridden by those of the test.

        Raises:
            DeviceFailure: secrets cannot be read (config_invalid), or the catalog does not answer (network_error).
        """
        env = override(claim.execution.run_config.env, claim.plan.env)
        referred = secrets_of(env)
        secret_values = await self._read(claim, frozenset(referred.values())) if referred else {}
        missing = sorted(name for name, secret in referred.items() if secret not in secret_values)
        if missing:
            raise DeviceFailure(Category.CONFIG_INVALID, _missing_message(missing[0], referred[missing[0]]))
        secrets = {name: secret_values[secret] for name, secret in referred.items()}
        texts = {name: text for name, value in env.items() if (text := text_of(value)) is not None}
        masked = frozenset(name for name, value in env.items() if is_secret(name, value))
        return Variables({**texts, **secrets}, masked)

    async def _read(self, claim: Claim, names: frozenset[str]) -> Mapping[str, str]:
        until = monotonic() + claim.attempt_seconds - MARGIN_SECONDS
        try:
            return await retry_outages(
                lambda: self._secrets.secret_values(claim.run.org_id, names), until, "secrets_postponed"
            )
        except Exception as error:
            known = to_domain_error(error)
            if known is None:
                raise
            category = Category.NETWORK_ERROR if is_outage(error) else Category.CONFIG_INVALID
            raise DeviceFailure(category, f"The secrets of the run could not be read: {known.message}") from error


def _missing_message(variable: str, secret: str) -> str:
    return (
        f'The variable {variable} refers to the secret "{secret}", which does not exist: create it with '
        f"PUT /api/v1/secrets/{secret}, or change env"
    )

"""Setting, listing and deleting secrets, and reading their values for attempts."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from mobiletest_automation.flows.environment import secret_name_problem
from services.catalog.model.secrets import SECRETS_LIMIT, VALUE_BYTES, Secret
from services.catalog.model.values import InvalidValue, ListPage, Page
from services.catalog.secret_cipher import SecretCipher
from services.catalog.usecases.errors import reports_violations
from services.chassis.clock import Clock
from services.chassis.context import current
from services.chassis.errors import NotFound
from services.chassis.limit_refusals import limit_reached


class Secrets(Protocol):
    """The secrets of the caller's organisation, their values encrypted."""

    async def put(self, secret: Secret) -> None:
        """Store a new or changed secret."""

    async def named(self, names: Collection[str]) -> Sequence[Secret]:
        """Those of the secrets that exist, in any order."""

    async def page(self, page: Page) -> Sequence[Secret]:
        """One page of the secrets, by name."""

    async def count(self) -> int:
        """How many secrets there are."""

    async def delete(self, name: str) -> None:
        """Delete the secret, if it exists."""


class SecretUseCases:
    """The secrets of the caller's organisation."""

    def __init__(self, secrets: Secrets, cipher: SecretCipher, clock: Clock) -> None:
        self._secrets = secrets
        self._cipher = cipher
        self._clock = clock

    @reports_violations
    async def put(self, name: str, value: str) -> Secret:
        """A new or changed secret.

        Processes may exceed the limit by the secrets that others create in the same moment.

        Raises:
            InvalidArgument: a value is not valid.
            PermissionDenied: there are as many as allowed.
            FailedPrecondition: there is no key.
        """
        _validate(name, value)
        org_id = current().org_id
        encrypted = self._cipher.encrypt(value, org_id, name)
        if not await self._secrets.named([name]) and await self._secrets.count() >= SECRETS_LIMIT:
            raise limit_reached("secrets", SECRETS_LIMIT, "delete secrets that you do not need")
        secret = Secret(org_id, name, encrypted, self._clock.now())
        await self._secrets.put(secret)
        return secret

    async def list(self, page: Page) -> ListPage[Secret]:
        """A page of the secrets, by name."""
        return ListPage(await self._secrets.page(page), await self._secrets.count())

    async def delete(self, name: str) -> None:
        """Delete the secret.

        Raises:
            NotFound: it does not exist.
        """
        if not await self._secrets.named([name]):
            raise NotFound("Secret not found")
        await self._secrets.delete(name)

    async def values(self, names: Collection[str]) -> Mapping[str, str]:
        """The values of those that exist.

        Raises:
            FailedPrecondition: one cannot be decrypted.
        """
        secrets = await self._secrets.named(names)
        return {secret.name: self._cipher.decrypt(secret.value, secret.org_id, secret.name) for secret in secrets}


def _validate(name: str, value: str) -> None:
    problem = secret_name_problem(name)
    if problem:
        raise InvalidValue("name", problem)
    if len(value.encode()) > VALUE_BYTES:
        raise InvalidValue("value", f"must have at most {VALUE_BYTES} bytes", "too_long")

"""Secrets in memory."""

from collections.abc import Collection, Sequence

from services.catalog.model.secrets import Secret
from services.catalog.model.values import Page
from services.chassis.context import current


class FakeSecrets:
    """The port `Secrets`."""

    def __init__(self) -> None:
        self.stored: dict[tuple[str, str], Secret] = {}

    async def put(self, secret: Secret) -> None:
        self.stored[current().org_id, secret.name] = secret

    async def named(self, names: Collection[str]) -> Sequence[Secret]:
        return [secret for secret in self._own() if secret.name in names]

    async def page(self, page: Page) -> Sequence[Secret]:
        return self._own()[page.offset : page.offset + page.size]

    async def count(self) -> int:
        return len(self._own())

    async def delete(self, name: str) -> None:
        self.stored.pop((current().org_id, name), None)

    def _own(self) -> list[Secret]:
        return sorted(
            (secret for (org_id, _), secret in self.stored.items() if org_id == current().org_id),
            key=lambda secret: secret.name,
        )

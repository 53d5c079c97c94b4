"""The build that an attached test targets."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from services.reporting.model.snapshots import AttachmentSnapshot, BuildSnapshot


@dataclass(frozen=True, slots=True)
class Targets:
    """The builds that tests may target: the app's current one, its newest one, and those pinned by version."""

    current: BuildSnapshot | None
    newest: BuildSnapshot | None
    by_version: Mapping[str, BuildSnapshot]

    @property
    def followed(self) -> BuildSnapshot | None:
        """The build of tests that follow the app: the current one, else the newest."""
        return self.current or self.newest

    def build(self, attachment: AttachmentSnapshot) -> BuildSnapshot | None:
        """The target; None while there is no such build."""
        pin = attachment.pinned_version
        return self.followed if pin is None else self.by_version.get(pin)

    def version(self, attachment: AttachmentSnapshot) -> str | None:
        """The target's version; a pin's, also while no build has it."""
        if attachment.pinned_version is not None:
            return attachment.pinned_version
        return self.followed.version if self.followed else None


def resolve_targets(
    current_version: str | None, newest: BuildSnapshot | None, named: Iterable[BuildSnapshot]
) -> Targets:
    """`named` are the builds whose versions the app or a pin names, as far as there are such builds."""
    by_version = {build.version: build for build in named}
    return Targets(by_version.get(current_version) if current_version else None, newest, by_version)


def targeted_versions(current_version: str | None, attachments: Iterable[AttachmentSnapshot]) -> set[str]:
    """The versions that `targets` needs the builds of."""
    return {version for version in (current_version, *(a.pinned_version for a in attachments)) if version}

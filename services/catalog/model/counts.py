"""How many live things an organisation has: kept as counters, so that no list has to count."""

from dataclasses import dataclass

from services.catalog.model.platforms import Platform


@dataclass(frozen=True, slots=True)
class Counts:
    """Live apps per platform, tests and workflows; also a change of these numbers."""

    ios: int = 0
    android: int = 0
    tests: int = 0
    workflows: int = 0

    @property
    def apps(self) -> int:
        """Apps of both platforms."""
        return self.ios + self.android

    def apps_of(self, platform: Platform | None) -> int:
        """The apps of one platform; None means of all."""
        if platform is None:
            return self.apps
        return self.ios if platform is Platform.IOS else self.android


def of_app(platform: Platform, number: int = 1) -> Counts:
    """The change of the counts when so many apps of the platform are added."""
    return Counts(ios=number) if platform is Platform.IOS else Counts(android=number)

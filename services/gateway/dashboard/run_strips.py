"""The results of a test in strips: one for each app or platform and variant, whose results say nothing of another."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Strip:
    """Runs, newest first, of one app and variant; `app` is an attachment of the test, or None if the app is not known
    or no longer has the test. Then runs of a platform, if it is known, stand together.
    """

    app: Json | None
    platform: str
    variant: Json | None
    runs: list[Json] = field(default_factory=list)


def strips_of(runs: Iterable[Json], apps: Mapping[str, Json]) -> Sequence[Strip]:
    """The strips in the order of their newest runs; `apps` by id."""
    strips: dict[tuple[str, str, str], Strip] = {}
    for run in runs:
        platform, variant = run["metadata"].get("platform") or "", run.get("variant")
        key = run.get("app_id") or "", platform, (variant or {}).get("id") or ""
        strip = strips.setdefault(key, Strip(apps.get(key[0]), platform, variant))
        strip.runs.append(run)
    return list(strips.values())

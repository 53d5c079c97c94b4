"""Environment variables, where an empty one counts as absent."""

from __future__ import annotations

from collections.abc import Mapping


class Environment:
    """Variables by name: `env["CI"]` is None for one that is absent, empty or blank."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    def __getitem__(self, name: str) -> str | None:
        return self._variables.get(name, "").strip() or None

    def is_true(self, name: str) -> bool:
        """Whether a flag is set: systems write true, True, TRUE or 1."""
        return (self[name] or "").lower() in ("true", "1")

"""The variant of a run: what may differ between two runs of one test on one build, and explain their verdicts.

Its dimensions are the variables from outside that the test reads, secret ones by name only. Runs of one variant are one
experiment; a test that reads no such variable has the empty variant alone.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from mobiletest_automation.flows.environment import Environment, is_secret, secrets_of, tells_runs_apart, text_of

# Characters of one value, and of all names and values together, that are shown of a variant.
SHOWN_VALUE = 60
SHOWN_VALUES = 2000
_MASKED = "***"

# By variable its text, or the name of its secret, which is empty for a text that is secret.
Dimensions = Mapping[str, str | Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Variant:
    """The variant of a run. `id` is empty for the empty one. `values` are what is shown of it, by name.

    `left_out` are variables that the test reads and that vary from run to run, so that they tell no runs apart.
    """

    id: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Its values in one line, "LOCALE=de, USER=ada"; empty for the empty variant."""
        return ", ".join(f"{name}={value}" for name, value in sorted(self.values.items())) or self.id


EMPTY_VARIANT = Variant()


def dimensions(env: Environment, read: Collection[str]) -> Dimensions:
    """What tells the runs of a test apart that reads these variables. A value of a secret is in none of it."""
    secrets = secrets_of(env)
    found: dict[str, str | Mapping[str, str]] = {}
    for name in sorted(read):
        value = env[name]
        if tells_runs_apart(value):
            found[name] = {"secret": secrets.get(name, "")} if is_secret(name, value) else text_of(value) or ""
    return found


def make_variant(wanted: Dimensions, left_out: Collection[str] = ()) -> Variant:
    """The variant of a run with these dimensions, without those that are left out."""
    kept = {name: value for name, value in wanted.items() if name not in left_out}
    without = tuple(sorted(wanted.keys() & set(left_out)))
    if not kept:
        return Variant(left_out=without)
    canonical = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    return Variant(short_digest(canonical, 16), _shown(kept), without)


def _shown(kept: Dimensions) -> dict[str, str]:
    """Values as they are shown, in the order of their names; what is too much together is left out."""
    shown: dict[str, str] = {}
    size = 0
    for name, value in sorted(kept.items()):
        text = _shown_value(value)
        size += len(name) + len(text)
        if size > SHOWN_VALUES:
            break
        shown[name] = text
    return shown


def _shown_value(value: str | Mapping[str, str]) -> str:
    """A long text is shortened; its digest tells it from others that begin like it."""
    if not isinstance(value, str):
        return f"secret {value['secret']}" if value["secret"] else _MASKED
    line = " ".join(value.split())
    if len(value) <= SHOWN_VALUE and line == value:
        return value
    return f"{line[: SHOWN_VALUE - 10]}… {short_digest(value, 8)}"


def short_digest(text: str, length: int) -> str:
    """The beginning of the SHA-256 of a text, in hexadecimal digits."""
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:length]

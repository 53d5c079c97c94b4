"""The variant of a run: what may differ between two runs of one test on one build, and explain their verdicts.

Its dimensions are the variables from outside that the test reads, secret ones by name only. Runs of one variant are one
experiment; a test that reads no such variable has the empty variant alone.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256

from mobiletest_automation.flows.environment import Environment, is_secret, secrets_of, tells_runs_apart, text_of

# Of a test that are kept apart.
VARIANTS_LIMIT = 50
# Of all variables of a test together that are remembered to recognise those that vary from run to run.
VALUES_LIMIT = 1000
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
    return Variant(_digest(canonical, 16), _shown(kept), without)


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
    return f"{line[: SHOWN_VALUE - 10]}… {_digest(value, 8)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownVariants:
    """The variants that a test has had: their ids, and digests of the values that each variable had in them.

    `left_out` are the variables that were found to vary from run to run. `revision` rises with each change.
    """

    ids: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    revision: int = 0


NO_VARIANTS = KnownVariants()


def add_variant(known: KnownVariants, wanted: Dimensions) -> tuple[Variant, KnownVariants]:
    """The variant of a new run, and what is known of the test with it: the same object if that is nothing new.

    When a test would have too many variants, the variable with the most values is one that varies from run to run: it
    is left out from then on, and the others tell the runs apart.
    """
    variant = make_variant(wanted, known.left_out)
    if not variant.id or variant.id in known.ids:
        return variant, known
    values = {
        name: tuple(dict.fromkeys((*known.values.get(name, ()), _digest(json.dumps(value, sort_keys=True), 8))))
        for name, value in wanted.items()
        if name not in known.left_out
    }
    merged = {**known.values, **values}
    if len(known.ids) < VARIANTS_LIMIT and sum(map(len, merged.values())) <= VALUES_LIMIT:
        added = replace(known, ids=(*known.ids, variant.id), values=merged, revision=known.revision + 1)
        return variant, added
    varying = max(sorted(merged), key=lambda name: len(merged[name]))
    rest = {name: digests for name, digests in merged.items() if name != varying}
    left_out = tuple(sorted((*known.left_out, varying)))
    return add_variant(replace(known, ids=(), values=rest, left_out=left_out, revision=known.revision + 1), wanted)


def _digest(text: str, length: int) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:length]

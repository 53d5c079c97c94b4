"""The variants that a test has had, of which there are only so many."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mobiletest_automation.model.variants import Dimensions, Variant, make_variant, short_digest

# Of a test that are kept apart.
VARIANTS_LIMIT = 50
# Of all variables of a test together that are remembered to recognise those that vary from run to run.
VALUES_LIMIT = 1000


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
        name: tuple(dict.fromkeys((*known.values.get(name, ()), short_digest(json.dumps(value, sort_keys=True), 8))))
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

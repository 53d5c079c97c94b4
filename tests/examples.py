"""How many examples property tests try: a quick share in `make test`, all of them in `make properties`."""

import os

VARIABLE = "MOBILETEST_TEST_EXAMPLES"
QUICK_SHARE = 0.1
MIN_EXAMPLES = 5


def examples(number: int) -> int:
    """The share of `number` examples that this run tries; at least 5, or `number` if that is less."""
    share = float(os.environ.get(VARIABLE, QUICK_SHARE))
    return max(min(MIN_EXAMPLES, number), round(number * share))

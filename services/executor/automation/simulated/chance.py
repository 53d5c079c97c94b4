"""Chance that can be repeated: what is drawn depends only on the seed and on what it is drawn for."""

from hashlib import blake2b

from services.executor.automation.devices import Seed


def draw(seed: Seed, *what: object) -> float:
    """A number in [0, 1), evenly spread; the same for the same seed and the same thing."""
    text = "\x1f".join(map(str, (seed.run_id, seed.attempt, *what)))
    return int.from_bytes(blake2b(text.encode(), digest_size=7).digest(), "big") / 2**56

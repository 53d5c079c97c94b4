"""The goals that `make bench` measures: a figure of this run beside what it should reach."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Goal:
    """One row of the table.

    `value` and `target` are in `unit`: "x" for a ratio of one run, else "ms", "/s", "MiB", "%", "s". `figures` says
    what is behind it in a few words, such as the figures of both sides. `at_most` is True where less is better.
    """

    name: str
    value: float
    target: float
    unit: str = "x"
    at_most: bool = False
    figures: str = ""

    @property
    def met(self) -> bool:
        return self.value <= self.target if self.at_most else self.value >= self.target


def show(title: str, goals: Sequence[Goal]) -> None:
    """Print the rows as a Markdown table."""
    print(f"\n## {title}\n\n| Goal | Reached | Wanted | Met | Behind it |\n| --- | --- | --- | --- | --- |")
    for goal in goals:
        wanted = f"{'at most' if goal.at_most else 'at least'} {_text(goal.target, goal.unit)}"
        met = "yes" if goal.met else "**no**"
        print(f"| {goal.name} | {_text(goal.value, goal.unit)} | {wanted} | {met} | {goal.figures} |", flush=True)


def _text(value: float, unit: str) -> str:
    number = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{number} {unit}" if unit not in ("x", "/s", "%") else f"{number}{unit}"

"""The commands that run JavaScript."""

from dataclasses import dataclass

from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.selectors import ALWAYS, Condition
from mobiletest_automation.flows.texts import cut


@dataclass(frozen=True, slots=True)
class EvalScript(BaseCommand):
    """Evaluate the expressions of a template for what they do."""

    script: str

    @property
    def subject(self) -> str:
        return cut(" ".join(self.script.split()), 100)


@dataclass(frozen=True, slots=True)
class RunScript(BaseCommand):
    """Run a script if `when` holds; `env` are additional variables for it. `file` is its name in messages."""

    script: str
    file: str
    env: tuple[tuple[str, str], ...] = ()
    when: Condition = ALWAYS

    @property
    def subject(self) -> str:
        return self.file

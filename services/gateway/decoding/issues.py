"""What is wrong with a request, and what in it was ignored."""

from collections.abc import Iterable
from dataclasses import dataclass, field

MOST_ISSUES = 100
MOST_IGNORED = 100

Location = tuple[str | int, ...]
"""Where: ("query", "page_size"), ("body", "test_ids", 2)."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One error of a request, in the words that FastAPI's clients know."""

    loc: Location
    msg: str
    type: str

    def as_json(self) -> dict[str, object]:
        return {"loc": list(self.loc), "msg": self.msg, "type": self.type}


class InvalidRequest(Exception):
    """The request breaks its contract; 422 with all issues."""

    def __init__(self, issues: Iterable[Issue]) -> None:
        super().__init__("the request is not valid")
        self.issues = tuple(issues)


class MalformedBody(Exception):
    """The body is not JSON; 400 with a sentence that says where."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why one value is not what its field takes."""

    type: str
    message: str

    def at(self, loc: Location) -> Issue:
        return Issue(loc, self.message, self.type)


class Refused(Exception):
    """Carries a refusal from the reader of a value to the one who knows its place."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class Ignored:
    """A field, parameter or header that the contract does not have, and the names that stand there."""

    loc: Location
    known: tuple[str, ...]

    @property
    def path(self) -> str:
        """Without its place: "run_config.retriess", "steps[2].x"."""
        head, *rest = self.loc[1:]
        return str(head) + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest)


@dataclass(slots=True)
class Findings:
    """Collects what turns up while a request is decoded; bounded, however bad the request is."""

    issues: list[Issue] = field(default_factory=list)
    ignored: list[Ignored] = field(default_factory=list)

    def refuse(self, loc: Location, refusal: Refusal) -> None:
        if len(self.issues) < MOST_ISSUES:
            self.issues.append(refusal.at(loc))

    def ignore(self, loc: Location, known: Iterable[str]) -> None:
        if len(self.ignored) < MOST_IGNORED:
            self.ignored.append(Ignored(loc, tuple(known)))

"""What is remembered, and for how long."""

from services.catalog.memo import LARGE, Memo


def counted() -> tuple[Memo[str, str], list[str]]:
    """A memo of two results, and a list to note what was made in."""
    return Memo(capacity=2), []


def test_a_result_is_made_once_while_it_is_remembered() -> None:
    """The oldest goes first."""
    memo, made = counted()

    def make(source: str) -> str:
        made.append(source)
        return source.upper()

    for key in ("a", "a", "b", "c", "b", "a"):
        assert memo.get(key, make, key, size=1) == key.upper()
    assert made == ["a", "b", "c", "a"]


def test_what_is_large_is_not_remembered() -> None:
    """So that the memory it takes has a bound."""
    memo, made = counted()

    def make(source: str) -> str:
        made.append(source)
        return source

    for size in (LARGE, LARGE, LARGE + 1, LARGE + 1):
        memo.get(str(size), make, str(size), size=size)
    assert made == [str(LARGE), str(LARGE + 1), str(LARGE + 1)]

from mobiletest_automation.screen.text_cache import LENGTH_LIMIT, cache_short_texts


def test_only_short_texts_are_remembered() -> None:
    calls: list[int] = []

    @cache_short_texts
    def length(text: str) -> int:
        calls.append(len(text))
        return len(text)

    for size in (5, 5, LENGTH_LIMIT + 1, LENGTH_LIMIT + 1):
        assert length("x" * size) == size
    assert calls == [5, LENGTH_LIMIT + 1, LENGTH_LIMIT + 1]

"""Sentences of reports on pages."""

import pytest

from services.gateway.dashboard.moments import mark_moments


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        (
            "failed since 2026-11-29 13:36 UTC.",
            'failed since <time datetime="2026-11-29T13:36:00Z">2026-11-29 13:36 UTC</time>.',
        ),
        ('on build "<b>" of 2026-11-29', "on build &#34;&lt;b&gt;&#34; of 2026-11-29"),
    ],
)
def test_moments_of_a_sentence_are_marked_and_the_rest_is_text(sentence: str, shown: str) -> None:
    assert mark_moments(sentence) == shown

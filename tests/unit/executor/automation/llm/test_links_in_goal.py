"""Which links a step allows."""

import pytest

from services.executor.automation.llm.device_tools import find_links, links_not_in_goal


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Open https://shop.example/cart?x=1.", ("https://shop.example/cart?x=1",)),
        ('Go to "shop://cart", then "shop://cart" again', ("shop://cart",)),
        ("See www.example.com!", ("www.example.com",)),
        ("Run javascript:alert(1) and data:text/html,x", ("javascript:alert(1", "data:text/html,x")),
        ("Type ada@example.com at 10:30 into Note: done", ()),
    ],
)
def test_links_are_found_in_sentences(text: str, found: tuple[str, ...]) -> None:
    assert find_links(text) == found


@pytest.mark.parametrize(
    ("text", "goal", "foreign"),
    [
        ("shop://cart", "Get to shop://cart, please", ()),
        ("shop://cart2", "Get to shop://cart, please", ("shop://cart2",)),
        ("SHOP://cart", "Get to shop://cart", ("SHOP://cart",)),
        ("https://evil.example/?x=shop://cart", "Get to shop://cart", ("https://evil.example/?x=shop://cart",)),
        ("Blue mug", "", ()),
    ],
)
def test_only_links_of_the_goal_are_allowed(text: str, goal: str, foreign: tuple[str, ...]) -> None:
    assert links_not_in_goal(text, goal) == foreign

from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.flows.step_places import StepPlace, step_places


def places(*steps: object) -> list[StepPlace]:
    return list(step_places(parse_flow(list(steps))).values())


def flow(*commands: object) -> object:
    return {"runFlow": {"commands": list(commands)}}


def test_a_place_names_the_value_of_its_step() -> None:
    hooks = {"onFlowStart": ["back"], "onFlowComplete": [{"tapOn": "A"}]}
    steps = places(hooks, "Tap A", {"repeat": {"times": 2, "commands": [{"tapOn": "A"}]}})
    assert [place.path for place in steps] == [
        *("steps[0].onFlowStart[0]", "steps[1]", "steps[2]", "steps[2].repeat.commands[0]"),
        "steps[0].onFlowComplete[0]",
    ]
    assert all(place.words for place in steps)


def test_a_step_has_the_same_words_where_another_version_has_moved_it() -> None:
    one, inner = places("Tap A", flow("Tap B"))[0], places("Tap A", flow("Tap B"))[2]
    moved = places("Launch the app", flow("Tap C", "Tap B"), "Tap A")
    assert [place.is_same(one, same_version=False) for place in moved] == [False, False, False, False, True]
    assert [place.is_same(inner, same_version=False) for place in moved] == [False, False, False, True, False]


def test_words_that_are_written_twice_name_no_step() -> None:
    """Nor the steps inside: with the same flow run twice it is not certain in which of the two."""
    twice = places(flow("Tap B"), "Tap A", flow("Tap B"))
    assert [bool(place.words) for place in twice] == [False, False, True, False, False]
    assert not twice[0].is_same(twice[0], same_version=False)
    assert twice[1].is_same(twice[1], same_version=True)
    assert not twice[1].is_same(twice[4], same_version=True)


def test_the_same_words_inside_another_step_are_another_step() -> None:
    outside, _, inside = places("Tap A", flow("Tap A"))
    assert outside.words != inside.words


def test_words_are_those_that_are_written() -> None:
    """Two variables may exchange their values."""
    ada, bob = places('Type "${ADA}"', 'Type "${BOB}"')
    assert ada.words
    assert bob.words
    assert ada.words != bob.words

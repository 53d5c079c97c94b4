"""A flow is loaded with its steps as they are stored, or with all its problems."""

import pytest

from mobiletest_automation.flows.configuration import properties_of
from mobiletest_automation.flows.loader import JSON_LIMITS, LoadedFlow, load_flow
from mobiletest_automation.flows.nodes import DocumentError


def test_a_text_becomes_stored_steps_and_a_flow() -> None:
    loaded = load_flow("appId: a\nname: Buy\n---\n- back\n- inputText: 007\n")
    assert loaded.steps == [{"appId": "a", "name": "Buy"}, "back", {"inputText": "007"}]
    assert loaded.flow == loaded.require()
    assert (loaded.require().name, [step.name for step in loaded.require().steps]) == ("Buy", ["back", "inputText"])
    assert load_flow(loaded.steps).steps == loaded.steps


def test_problems_leave_no_flow() -> None:
    loaded = load_flow(["back", {"tapp": "x"}], root="steps")
    assert (loaded.flow, loaded.steps, [problem.path for problem in loaded.problems]) == (None, [], ["steps[1].tapp"])
    with pytest.raises(DocumentError, match="did you mean tapOn"):
        loaded.require()


def test_problems_of_the_configuration_and_of_the_steps_are_reported_together() -> None:
    problems = load_flow("appId: a\ntags: x\nenv: {1a: b}\n---\n- back\n- tapp: x\n").problems
    assert [(problem.line, problem.column) for problem in problems] == [(2, 7), (6, 3)]


@pytest.mark.parametrize("configuration", ["{}", "", "null", "# nothing"])
def test_an_empty_configuration_is_none(configuration: str) -> None:
    loaded = load_flow(f"{configuration}\n---\n- back\n")
    assert (loaded.problems, loaded.steps) == ((), ["back"])


def test_a_configuration_that_is_not_a_mapping_is_refused() -> None:
    (problem,) = load_flow("[appId]\n---\n- back\n", {"other.yaml": "- back"}).problems
    assert (problem.line, problem.column) == (1, 1)
    assert "expected a mapping" in problem.message


def values_in(value: object) -> int:
    match value:
        case dict():
            return 1 + sum(map(values_in, value.values()))
        case list():
            return 1 + sum(map(values_in, value))
        case _:
            return 1


def test_what_is_stored_is_within_the_limits_of_what_is_read_again() -> None:
    """A file that runs many times multiplies; the limit is exact."""

    def loaded(variables: int, steps: int) -> LoadedFlow:
        env = ", ".join(f"A{number}: b" for number in range(variables))
        return load_flow("- runFlow: f.yaml\n" * 99 + "- back\n" * steps, {"f.yaml": f"env: {{{env}}}\n---\n- back\n"})

    one_less = JSON_LIMITS.values - values_in(loaded(190, 0).steps)
    full = loaded(190, one_less)
    assert values_in(full.steps) == JSON_LIMITS.values
    assert load_flow(full.steps).problems == ()
    (problem,) = loaded(190, one_less + 1).problems
    assert "more than 20000 values in all, with the files that are run" in problem.message
    assert load_flow([*full.steps, "back"]).flow is None


def test_properties_are_read_from_what_is_stored_of_a_flow() -> None:
    header = "appId: a\nproperties: {team: checkout, ticket: 007, share: 0.5, gone: null, nested: {a: b}}\n"
    loaded = load_flow(f"{header}---\n- back\n")
    assert loaded.notices == ()
    assert properties_of(loaded.steps) == (("team", "checkout"), ("ticket", "007"), ("share", "0.5"))
    assert properties_of(["Tap x"]) == properties_of([]) == ()
    many = load_flow(
        "appId: a\nproperties:\n" + "".join(f"  p{n}: {'x' * 2000}\n" for n in range(60)) + "---\n- back\n"
    )
    assert [len(value) for _, value in properties_of(many.steps)] == [1000] * 50
    listed = load_flow("appId: a\nproperties: [a]\n---\n- back\n")
    assert [notice.message for notice in listed.notices] == ['"properties" has no effect here']

"""Goals and sentences that a model carries out, and what a second run of each costs."""

from pathlib import Path

from mobiletest_automation.model.results import AttemptResult, CacheOutcome, Resolution
from mobiletest_automation.model.run_config import CacheRetryMode, ExecutionMode, Grounder, RunConfig
from mobiletest_automation.step_cache.cache import StoredStepCache
from tests.fakes.llm import call
from tests.fakes.shopper import shopper
from tests.fakes.step_cache import FakeStepCacheStore
from tests.integration.executor.llm.conftest import World

SHOP = Path("examples/shop-android/1.0.0.yaml").read_text()
SENTENCES = (
    'Type "ada@example.com" into "Email"',
    'Type "lovelace" into "Password"',
    'Tap "Log in"',
    'Tap "Blue mug"',
    'Tap "Add to cart"',
    'Tap "Go to cart"',
    'Tap "Checkout"',
    'Type "12 St James\'s Square, London" into "Address"',
    'Tap "Place order"',
    'I see "Thank you"',
)
GOAL = "Buy a blue mug as ada@example.com with the password lovelace"
PLANNING = RunConfig(execution_mode=ExecutionMode(enable_planning=True))


def calls_of(result: AttemptResult) -> int:
    return sum(step.model_calls for step in result.steps)


def tokens_of(result: AttemptResult) -> int:
    return sum(step.model_tokens for step in result.steps)


async def test_a_goal_is_planned_in_the_first_run_and_needs_no_model_in_the_second(world: World) -> None:
    world.endpoint.mind = shopper
    cache = StoredStepCache(FakeStepCacheStore())
    first = await world.run(GOAL, app=SHOP, config=PLANNING, cache=cache)
    assert first.failure is None
    assert (calls_of(first), tokens_of(first)) == (len(world.endpoint.asked), 110 * len(world.endpoint.asked))
    planned = [sentence.replace("lovelace", "[hidden 1]") for sentence in SENTENCES[:9]]
    assert [step.text for step in first.steps if step.depth == 1] == [*planned, 'I see "Thank you"']
    assert first.steps[0].resolution is Resolution.MODEL
    second = await world.run(GOAL, app=SHOP, config=PLANNING, cache=cache)
    assert second.failure is None
    assert (calls_of(first) > 0, calls_of(second)) == (True, 0)
    assert second.steps[0].cache is CacheOutcome.HIT
    assert [step.text for step in second.steps] == [step.text for step in first.steps]


async def test_a_sentence_carried_out_by_a_model_is_cached_for_the_second_run(world: World) -> None:
    world.endpoint.mind = shopper
    cache = StoredStepCache(FakeStepCacheStore())
    steps = (
        "Sign in as ada@example.com with the password lovelace, please",
        "Have a look at the blue mug: choose the blue mug",
        'I see "Add to cart"',
    )
    first = await world.run(*steps, app=SHOP, cache=cache)
    assert (first.failure, calls_of(first) > 0) == (None, True)
    asked = len(world.endpoint.asked)
    second = await world.run(*steps, app=SHOP, cache=cache)
    assert (second.failure, calls_of(second), len(world.endpoint.asked)) == (None, 0, asked)
    assert [step.resolution for step in second.steps[:2]] == [Resolution.CACHE, Resolution.CACHE]


async def test_grounder_type_llm_asks_for_every_sentence_once(world: World) -> None:
    world.endpoint.mind = shopper
    cache = StoredStepCache(FakeStepCacheStore())
    config = RunConfig(execution_mode=ExecutionMode(grounder_type=Grounder.LLM))
    steps = ("Sign in as ada@example.com with the password lovelace", "Open the blue mug")
    first = await world.run(*steps, app=SHOP, cache=cache, config=config)
    assert (first.failure, [step.model_calls > 0 for step in first.steps]) == (None, [True, True])
    second = await world.run(*steps, app=SHOP, cache=cache, config=config)
    assert (second.failure, calls_of(second)) == (None, 0)


async def test_steps_that_cannot_be_replayed_are_resolved_again(world: World) -> None:
    """What is typed has to stand in the sentence to be remembered: here it does not."""
    cache = StoredStepCache(FakeStepCacheStore())
    config = RunConfig(cache_retry_mode=CacheRetryMode.NONE)
    moves = (call("type", element=2, text="ada@example.com"), call("type", element=3, text="lovelace"), call("done"))
    for _ in range(2):
        world.endpoint.add(*moves)
        result = await world.run("Fill the form in with what you know", app=SHOP, cache=cache, config=config)
        assert (result.failure, result.steps[0].cache, calls_of(result)) == (None, CacheOutcome.MISS, 3)


async def test_a_place_chosen_by_a_vision_model_is_cached(world: World) -> None:
    cache = StoredStepCache(FakeStepCacheStore())
    config = RunConfig(execution_mode=ExecutionMode(grounder_type=Grounder.VISION))
    world.endpoint.add(call("tap", cell="C2"), call("done"))
    first = await world.run("Put the cursor into the first box", app=SHOP, cache=cache, config=config)
    second = await world.run("Put the cursor into the first box", app=SHOP, cache=cache, config=config)
    assert (first.failure, second.failure) == (None, None)
    assert (calls_of(first), calls_of(second)) == (2, 0)

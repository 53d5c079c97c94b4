"""This tree starts on what the last release stored, says the same of it, and goes on from there."""

from deploy.local.stack import run_stack
from tests.e2e.client import Api, created
from tests.e2e.world import World
from tests.fault.release import ENVIRONMENT, ask, differences, unpack
from tests.infrastructure import server_folder


async def test_this_version_starts_on_the_state_of_the_last_release() -> None:
    with server_folder() as folder:
        before = unpack(folder)
        async with run_stack(folder, extra_env=ENVIRONMENT) as stack, Api(stack.url, stack.api_key) as api:
            assert differences(before, await ask(stack)) == []
            world, (workflow, *_) = World(api), created(await api.get("/workflows"))["items"]
            execution = await world.run(workflow)
            assert execution["status"] == "completed"
            stack.check()

"""Records all examples from a running stack."""

from typing import Any

from tests.e2e.test_limits import new_organisation
from tests.openapi_document import DOCUMENT
from tests.reference.recorder import Recorder
from tests.reference.side_stories import (
    accept_baseline,
    answer_question,
    ask_service,
    cancel_execution,
    heal_step,
    manage_keys,
    upload_in_parts,
)
from tests.reference.stable_values import stabilize
from tests.reference.story import Story, delete_all, import_folder
from tests.shared_infrastructure import SharedStack


async def record_examples(stack: SharedStack, *, step_milliseconds: int = 100) -> dict[str, Any]:
    """The examples by operationId, in the order of the document, with stable values.

    The organisation may have one run at a time, so that runs have an order and one waits.
    """
    key = await new_organisation(stack, concurrent_runs=1)
    async with Recorder(stack.url, key, DOCUMENT) as recorder:
        story = Story(recorder, step_milliseconds)
        await story.register()
        await story.report(await story.execute())
        await import_folder(recorder, story.app)
        await accept_baseline(story)
        await answer_question(story)
        await heal_step(story)
        await cancel_execution(story)
        await upload_in_parts(story)
        await ask_service(recorder)
        await manage_keys(recorder)
        await delete_all(story)
    stable = stabilize(dict(recorder.examples))
    names = [operation["operationId"] for item in DOCUMENT["paths"].values() for operation in item.values()]
    return {name: stable[name] for name in names}

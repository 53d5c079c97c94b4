"""What the catalog stores of a flow, for tests of what is done with it later."""

from mobiletest_automation.flows.loader import NO_FILES, Files, Json, load_flow


def stored_steps(text: str, files: Files = NO_FILES) -> list[Json]:
    """The steps of a Maestro file as JSON values. Raise DocumentError if something is wrong with it."""
    loaded = load_flow(text, files)
    loaded.require()
    return loaded.steps

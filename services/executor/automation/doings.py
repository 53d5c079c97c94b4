"""What only commands do; what sentences can do too are the actions of `sentences.intents`."""

from enum import StrEnum


class Doing(StrEnum):
    """In the words of the API, as `Step.action`."""

    CLEAR_STATE = "clear_state"
    COPY_TEXT = "copy_text"
    SET_CLIPBOARD = "set_clipboard"
    ASSERT_TRUE = "assert_true"
    WAIT_UNTIL_STILL = "wait_until_still"
    SET_LOCATION = "set_location"
    SET_ORIENTATION = "set_orientation"

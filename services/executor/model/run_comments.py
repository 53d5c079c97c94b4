"""What people write about runs. It is no result: nothing that is counted depends on it."""

from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime

# Comments of one run, and of all runs of an organisation.
COMMENTS_OF_RUN, COMMENTS_LIMIT = 200, 20_000
TEXT_LENGTH = 2_000
# Who has it may change what others wrote.
MODERATION_SCOPE = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComment:
    """A comment of a run. `by` is the name of the API key that wrote it, as it was then, and `by_key_id` its id, None
    for a caller without one; `edited_at` is when its text was changed last.
    """

    id: str
    execution_id: str
    run_id: str
    text: str
    by: str
    by_key_id: str | None = None
    created_at: datetime
    edited_at: datetime | None = None

    def may_be_changed(self, key_id: str | None, scopes: Container[str]) -> bool:
        """Whether the holder of this key, with these scopes, may change and delete it."""
        if "write" not in scopes:
            return False
        return MODERATION_SCOPE in scopes or (key_id is not None and key_id == self.by_key_id)

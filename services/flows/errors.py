"""The one error of the step language."""

from services.flows.nodes import DocumentError


class StepError(DocumentError):
    """A step, or the list of steps, that cannot be accepted: its path, line and column (in text), and what to do."""

"""From a response message to JSON; one encoder per message type, compiled at start."""

"""English sentences: parsed into intents by rules, and grounded on the elements of a screen."""

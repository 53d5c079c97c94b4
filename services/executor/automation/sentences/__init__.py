"""English sentences: read into intents by rules, and matched with what is on the screen."""

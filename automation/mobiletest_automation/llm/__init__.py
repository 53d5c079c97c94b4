"""Language models behind an OpenAI-compatible endpoint: questions, tools, and validation of their answers."""

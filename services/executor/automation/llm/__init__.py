"""Language models behind an OpenAI-compatible endpoint: what they are asked, and what of their answers is allowed."""

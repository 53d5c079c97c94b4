"""What is recorded of an attempt: steps, screenshots, page sources, model transcripts."""

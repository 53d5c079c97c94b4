"""Results where reviewers look: JUnit, Markdown, and the annotations of GitHub."""

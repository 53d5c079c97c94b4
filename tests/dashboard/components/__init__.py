"""The components of the style sheet, on a sample page."""

"""What an uploaded artifact says of itself: package name and version, read in a process of its own with hard limits."""

"""What use cases, workers and background jobs need from the outside world."""

"""What reports show, composed from looked-up rows; pure functions."""

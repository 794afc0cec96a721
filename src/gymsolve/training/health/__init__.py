"""Is the training sound? Measures around an update, and numbers that are not finite."""

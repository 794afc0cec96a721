"""Learning algorithms on torch: each file is one complete algorithm."""

"""Training: from a config to a run. `loop.py` is the one visible loop."""

"""Videos of trained policies; training knows only `automatic.py` and `follower.py`."""

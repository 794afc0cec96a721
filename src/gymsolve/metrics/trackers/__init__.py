"""Trackers: where a run's records go besides its own folder.

    tracker.py      what a tracker is told, and when
    csv.py, tensorboard.py, wandb.py, trackio.py      one adapter each; only it imports its package

`training/tracking.py` feeds them. They only ever see what is already in the run's folder, so a tracker
that fails loses nothing.
"""

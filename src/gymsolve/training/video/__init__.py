"""Videos of trained policies.

    playing.py    whole episodes on a stage, one moment at a time     overlay.py      what is written about them
    canvas.py     frames of any size → pictures of one size           encoding.py     pictures → mp4
    recording.py  a checkpoint → a video and what it shows            progression.py  all checkpoints → one video
    automatic.py  the videos that every run leaves                    follower.py     videos while it trains

Training knows only `automatic.py`; everything else works from the run's folder.
"""

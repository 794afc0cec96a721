"""Videos of trained policies.

    canvas.py       frames of any size → pictures of one size
    overlay.py      what is written below a frame
    encoding.py     pictures → mp4
    recording.py    a policy → a video and what it shows
    progression.py  all checkpoints of a run → one video, with captions.py and curve.py
    automatic.py    the videos that every run leaves
    follower.py     videos while a run trains
    record.py       videos on demand

Training knows only `automatic.py` and `follower.py`; everything else works from the run's folder.
"""

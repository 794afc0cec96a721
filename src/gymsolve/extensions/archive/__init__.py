"""The archive of Go-Explore: episodes of training begin at places that earlier ones reached.

`GoExplore` (go_explore.py) keeps the archive; `imitation.py` lets the policy learn from its best
trajectories, after its own updates or instead of them.
"""

"""Exploring: rewards that a run pays itself for what is new to it, and an archive of places to begin at.

`Curiosity` (curiosity.py) is the bonus that the trainer sees. It scales what a `Novelty` pays, values it with
a critic of its own and hands it over as a stream of rewards; how the policy learns, and with which engine,
does not change. `needs.py` says what a run needs, `build_bonus.py` makes it; only the latter needs torch.

`GoExplore` (go_explore.py) keeps the archive, in which episodes of training begin; `imitation.py` lets the
policy learn from its best trajectories, after its own updates or instead of them.
"""

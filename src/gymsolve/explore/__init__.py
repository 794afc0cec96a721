"""Curiosity: rewards that a run pays itself for what is new to it.

`Curiosity` (curiosity.py) is the bonus that the trainer sees. It scales what a `Novelty` pays, values it with
a critic of its own and hands it over as a stream of rewards. How the policy learns, and with which engine,
does not change: nothing here touches its weights. `needs.py` says what a run needs, `build_bonus.py` makes
it; only the latter needs torch.
"""

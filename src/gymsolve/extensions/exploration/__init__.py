"""Exploration bonuses: rewards that a run pays itself for observations that are new to it.

`Curiosity` (curiosity.py) is the bonus that the trainer sees. It scales what a `Novelty` pays, values it with
a critic of its own and hands it over as a stream of rewards; how the policy learns, and with which engine,
does not change. `needs.py` says what a run needs; `build.py` makes it and alone needs torch.
"""
